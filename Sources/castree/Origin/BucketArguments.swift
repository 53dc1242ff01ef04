import CASStore
import Console
import HotPush
import S3
import Storage
import StoreCommands

extension Option {
    /// How a bucket is reached, for the commands that write to origins.
    static let bucket: [Option] =
        reachingBucket + [
            .integer("jobs", in: 1...128, "so many requests to a bucket at once", fallback: 16)
        ]

    /// What a command declares that means nothing for a directory.
    static func onlyForBuckets(_ command: Command) -> [Option] {
        let names = bucket.map(\.name) + ["fetch-bases"]
        return command.options.filter { names.contains($0.name) }
    }
}

extension Invocation {
    /// Reads what names an origin: a bad `s3://…` is a wrong command line.
    ///
    /// - Throws: `usage`; for other origins `.badOrigin`, `.badChannelName`.
    func origin(_ text: String) throws -> OriginReference {
        guard BucketLocation.isOne(text) else { return try OriginReference(parsing: text) }
        let reference = try parsed { () throws(StoreError) in try OriginReference(parsing: text) }
        if case .bucket(let bucket) = reference.location,
            OriginLayout.isInsideOrigin(bucket.prefix)
        {
            throw CommandError.usage(
                "\(bucket) would be part of an origin above it, whose prunes would delete its files; choose another "
                    + "prefix")
        }
        return reference
    }

    /// Reads the origin in a bucket that a command is about as a whole.
    ///
    /// - Throws: `usage`, also for the pointer of a channel.
    func bucketOrigin(_ text: String) throws -> BucketLocation {
        let reference = try origin(text)
        guard case .bucket(let bucket) = reference.location else {
            throw CommandError.usage("'\(text)' is no origin in a bucket: s3://BUCKET/PREFIX")
        }
        guard reference.channel == nil else {
            throw CommandError.usage(
                "'\(text)' is the pointer of a channel: name the origin itself, \(bucket)")
        }
        return bucket
    }

    /// Which bucket is meant, with which keys: by the command line, and as AWS's tools find it.
    func bucketSettings() throws -> BucketSettings {
        var settings = BucketSettings(environment: environment)
        settings.endpoint = try value("endpoint")
        settings.region = try value("region")
        settings.profile = try value("profile")
        settings.isAnonymous = flag("anonymous")
        return settings
    }

    /// Whether the origin is in a bucket.
    var isOriginInBucket: Bool { BucketLocation.isOne(argument("ORIGIN")) }
}
