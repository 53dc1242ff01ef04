import Buckets
package import Console
import StoreCommands

extension Option {
    /// How a bucket is reached, for the commands that write to origins.
    package static let bucket: [Option] =
        reachingBucket + [
            .integer("jobs", in: 1...128, "so many requests to a bucket at once", fallback: 16)
        ]
}

extension Invocation {
    /// Whether the origin is in a bucket.
    package var isOriginInBucket: Bool { BucketLocation.isOne(argument("ORIGIN")) }
}
