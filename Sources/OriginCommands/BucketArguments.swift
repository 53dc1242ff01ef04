import Buckets
package import Console
import StoreCommands

extension Option {
    /// How a bucket is reached, for the commands that write to origins.
    package static let bucket: [Option] =
        reachingBucket + [
            .integer("jobs", in: 1...128, "so many requests to a bucket at once", fallback: 16)
        ]

    /// What a command declares that means nothing for a directory.
    package static func onlyForBuckets(_ command: Command) -> [Option] {
        let names = bucket.map(\.name) + ["fetch-bases", "all-of"]
        return command.options.filter { names.contains($0.name) }
    }
}

extension Invocation {
    /// Whether the origin is in a bucket.
    package var isOriginInBucket: Bool { BucketLocation.isOne(argument("ORIGIN")) }
}
