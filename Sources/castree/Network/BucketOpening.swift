import CASStore
import Console
import CurlTransport
import HotPush
import S3
import Storage
import StoreCommands

// How a bucket is reached: by the options of the command line, and by AWS's usual variables and files.

extension Invocation {
    /// The bucket at a location, which is not contacted yet.
    /// - Throws: `usage` for a bad endpoint or region, `.credentials`; the error that keeps libcurl from working.
    func openBucket(_ location: BucketLocation) throws -> any ObjectStorage {
        try openBucket(location, connectionOptions())
    }

    func openBucket(
        _ location: BucketLocation, _ transport: TransportOptions, tellsRetries: Bool = true
    ) throws -> S3Storage {
        let settings = try bucketSettings()
        var options = BucketOptions()
        if isDeclared("jobs") { options.jobCount = try integer("jobs") ?? options.jobCount }
        options.isStopped = { Interruption.isRequested }
        options.retries.failureCountMax = try retryPolicy().failureCountMax
        options.stallSeconds = Int((transport.stallTimeout.milliseconds + 999) / 1_000)
        options.note = { note($0) }
        if tellsRetries { options.retrying = { note($0) } }
        let carrier = try CurlBucketCarrier(certified(transport))
        do throws(StoreError) {
            return try S3Storage(location, settings, carrier: carrier, options)
        } catch {
            guard error.code == .badOrigin else { throw error }
            throw CommandError.usage(error.message)
        }
    }

    /// The transport to an origin, which signs requests if it is in a bucket.
    /// - Throws: as ``openBucket(_:_:)``.
    func transport(
        to location: OriginLocation, _ options: TransportOptions
    ) throws -> any Transport {
        switch location {
        case .directory(let path):
            if isDeclared("netrc-file"), isGiven("netrc-file") {
                throw CommandError.usage("--netrc-file is for web origins: http:// or https://")
            }
            return DirectoryTransport(path, byteRateMax: options.byteRateMax)
        case .web(let url):
            var options = options
            options.credentials = try CredentialSearch(self).credentials(for: url)
            return try CurlTransport(options)
        case .bucket(let bucket):
            return SignedTransport(
                try CurlTransport(certified(options)), to: try openBucket(bucket, options))
        }
    }

    /// Refuses options about buckets if the only origin named is none.
    func refuseBucketAccess(to location: OriginLocation) throws(CommandError) {
        if case .bucket = location { return }
        try refuse(Option.bucketAccess, "is for origins in buckets: s3://BUCKET/PREFIX")
    }

    private func certified(_ options: TransportOptions) -> TransportOptions {
        var options = options
        options.userAgent = "castree/\(program.version)"
        options.certificatesFile =
            options.certificatesFile ?? BucketSettings(environment: environment).certificatesFile
        return options
    }
}
