package import S3

extension S3Storage {
    /// A bucket whose time stands still.
    package static func updates(
        _ keys: any KeySource, _ carrier: any BucketCarrier = NoCarrier()
    ) throws -> S3Storage {
        var options = BucketOptions()
        options.now = { 1_764_000_000 }
        return S3Storage(
            try BucketLocation(parsing: "s3://updates/app"),
            at: try BucketEndpoint(bucket: "updates", endpoint: "http://store:9000", region: nil),
            keys: keys, carrier: carrier, options)
    }
}

/// A carrier for buckets that send nothing themselves.
package struct NoCarrier: BucketCarrier {
    package init() {}

    package func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd { .failed(CarryFailure(.notSent, "nothing is sent here")) }
}
