package import S3

/// An origin in a bucket of an S3-compatible store.
///
/// `CurlTransport` makes one from `s3://BUCKET/PREFIX`. Publishers write to it, and a `Pull` reads from it through its
/// transport. No request is sent before it is used. Several threads may use one at once.
public struct OriginBucket: Sendable {
    package let storage: S3Storage

    package init(_ storage: S3Storage) { self.storage = storage }
}
