import Buckets
import CASStore
import Console
import CurlTransport
import HotPush

// How a bucket is reached: by the options of the command line, and as AWS's tools find it.

extension Invocation {
    /// The bucket at a place.
    ///
    /// Nothing is asked of it yet.
    /// - Throws: `.badOrigin`, `.credentials`; the error that keeps libcurl from working.
    func openBucket(
        _ location: BucketLocation, _ transport: TransportOptions = TransportOptions()
    ) throws -> S3Bucket {
        if OriginLayout.isInsideOrigin(location.prefix) {
            throw StoreError(
                .badOrigin,
                "\(location) would be part of an origin above it, whose prunes would delete its files; choose another "
                    + "prefix")
        }
        var settings = BucketSettings(environment: environment)
        settings.endpoint = try value("endpoint")
        settings.region = try value("region")
        settings.profile = try value("profile")
        settings.isAnonymous = flag("anonymous")
        var options = BucketOptions()
        if isDeclared("jobs") { options.jobCount = try integer("jobs") ?? options.jobCount }
        options.isStopped = { Interruption.isRequested }
        options.note = { note($0) }
        let carrier = try CurlBucketCarrier(certified(transport))
        return try S3Bucket(location, settings, carrier: carrier, options)
    }

    /// What carries requests to an origin: signed, if it is in a bucket.
    /// - Throws: as ``openBucket(_:_:)``.
    func transport(
        to location: OriginLocation, _ options: TransportOptions
    ) throws -> any Transport {
        guard case .bucket(let bucket) = location else { return try CurlTransport(options) }
        return SignedTransport(
            try CurlTransport(certified(options)), to: try openBucket(bucket, options))
    }

    /// Whether the command has an option of that name.
    func isDeclared(_ name: String) -> Bool { command.options.contains { $0.name == name } }

    private func certified(_ options: TransportOptions) -> TransportOptions {
        var options = options
        options.userAgent = "castree/\(program.version)"
        options.certificatesFile =
            options.certificatesFile ?? BucketSettings(environment: environment).certificatesFile
        return options
    }
}
