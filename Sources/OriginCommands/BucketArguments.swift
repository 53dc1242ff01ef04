import Buckets
package import Console

extension Option {
    /// How a bucket is reached, for the commands that write to origins.
    package static let bucket: [Option] = [
        .text(
            "endpoint", placeholder: "URL",
            "the S3 service of an s3:// origin [else AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile's, AWS]"
        ),
        .text(
            "region", placeholder: "NAME",
            "its region [else AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-east-1]"),
        .text(
            "profile", placeholder: "NAME",
            "the profile of ~/.aws to take keys from [else AWS_PROFILE]"),
        .flag("anonymous", "sign nothing"),
        .integer("jobs", in: 1...128, "so many requests to a bucket at once", fallback: 16),
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
