public import HotPush
public import Platform
internal import S3

/// How a bucket is reached, and with which keys.
///
/// What is `nil` comes from the environment and the files that AWS's own tools read: `AWS_ENDPOINT_URL_S3`,
/// `AWS_REGION`, `AWS_PROFILE`, `AWS_ACCESS_KEY_ID`, `~/.aws/config`, `~/.aws/credentials` and others
/// (`docs/buckets.md`).
public struct BucketAccess: Sendable {
    /// The URL of the store; by default that of AWS in the region.
    public var endpoint: String?
    /// The region that requests are signed for; by default `us-east-1`.
    public var region: String?
    /// The profile in AWS's files whose keys, endpoint and region count.
    public var profile: String?
    /// Whether requests are not signed, for reading a public bucket.
    public var isAnonymous = false
    /// The value of an environment variable; by default that of the process.
    public var environment: @Sendable (String) -> String? = { environmentVariable($0) }
    /// The most requests at once.
    public var requestCountMax = 16
    /// The time limits, the proxy and the certificates of the connections.
    public var connections = TransportOptions()
    /// Gets sentences for people about what went otherwise than expected, from several threads.
    public var notice: @Sendable (String) -> Void = { _ in }
    /// Polled during requests; `true` stops them with `.interrupted`.
    public var isInterrupted: @Sendable () -> Bool = { false }

    /// Access by the environment's keys.
    public init() {}
}

extension OriginBucket {
    /// Prepares the origin at `s3://BUCKET/PREFIX`; sends no request.
    ///
    /// Endpoint, region and profile may also stand in the location: `s3://updates/app?endpoint=https://s3.example.org`.
    /// - Throws: `.badOrigin` for another kind of location, or for an endpoint or region that cannot be; `.credentials`
    ///   if the files with the keys cannot be read; `.transport` if libcurl cannot start.
    public init(_ location: String, _ access: BucketAccess = BucketAccess()) throws(StoreError) {
        let bucket = try BucketLocation(parsing: location)
        var settings = BucketSettings(environment: access.environment)
        (settings.endpoint, settings.region) = (access.endpoint, access.region)
        (settings.profile, settings.isAnonymous) = (access.profile, access.isAnonymous)
        var connections = access.connections
        connections.certificatesFile = connections.certificatesFile ?? settings.certificatesFile
        var options = BucketOptions()
        options.jobCount = access.requestCountMax
        options.stallSeconds = Int((connections.stallTimeout.milliseconds + 999) / 1_000)
        (options.note, options.retrying) = (access.notice, access.notice)
        options.isStopped = access.isInterrupted
        self.init(
            try S3Storage(bucket, settings, carrier: CurlBucketCarrier(connections), options))
    }

    /// A transport that signs the requests of a `Pull` to this bucket, which belongs to one thread.
    /// - Throws: `.transport` if libcurl cannot start.
    public func transport(
        _ options: TransportOptions = TransportOptions()
    ) throws(StoreError) -> any Transport {
        SignedTransport(try CurlTransport(options), to: storage)
    }
}
