package import Console

extension Option {
    /// The deadlines and retries of every command that uses a network.
    private static let timeouts = timeouts(retries: 8)

    private static func timeouts(retries: Int, _ more: String = "") -> [Option] {
        [
            .text(
                "timeout", placeholder: "TIME",
                "give up on a connection that is silent for this long",
                fallback: "30s"),
            .integer(
                "retries", in: 0...100, "repeat a failed request this many times" + more,
                fallback: retries),
        ]
    }

    /// How to reach an origin, wherever it is: the options of every command that only reads one.
    package static let reaching: [Option] =
        timeouts(
            retries: 8, "; by default only twice before the first answer"
        ) + [
            .text(
                "connect-timeout", placeholder: "TIME", "give up connecting after this long",
                fallback: "20s"),
            .text(
                "total-timeout", placeholder: "TIME",
                "end any request that takes longer than this; the next one continues it"),
            leastRate,
            .text(
                "netrc-file", placeholder: "FILE",
                "take an http(s) origin's user and password from this file [default: "
                    + "CASTREE_ORIGIN_…, NETRC, ~/.netrc; see "
                    + "docs/serving.md]", completion: .files),
            .text("proxy", placeholder: "URL", "reach the origin through this proxy"),
            certificates,
        ] + bucketAccess

    private static let leastRate = Option.text(
        "least-rate", placeholder: "BYTES",
        "give up on a connection that, for --timeout (at most a minute), delivers fewer bytes per "
            + "minute than this; the attempt then fails", fallback: "8K")

    private static let certificates = Option.text(
        "cacert", placeholder: "FILE", "trust these certificates instead of the system's",
        completion: .files)

    /// How to reach a bucket: the options of every other command that takes an `s3://` origin.
    package static let reachingBucket = timeouts + [certificates] + bucketAccess

    /// The same for a repair, with the deadlines of a pull.
    package static let reachingToRepair = reachingBucket + [leastRate]

    /// The same for a server, which retries less: its clients had better be told to come back.
    package static let servingBucket = timeouts(retries: 2) + [certificates] + bucketAccess

    package static let bucketAccess: [Option] = [
        .text(
            "endpoint", placeholder: "URL",
            "the S3 endpoint of an s3:// origin [default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the "
                + "profile's, AWS]"
        ),
        .text(
            "region", placeholder: "NAME",
            "the bucket's region [default: AWS_REGION, AWS_DEFAULT_REGION, the profile's, us-east-1]"
        ),
        .text(
            "profile", placeholder: "NAME",
            "use the keys of this profile in ~/.aws [default: AWS_PROFILE]"),
        .flag("anonymous", "send unsigned requests"),
    ]
}

extension Invocation {
    package func certificatesFile() throws(CommandError) -> String? {
        guard let file = try value("cacert") else { return nil }
        guard System.isReadable(file), !System.isFifo(file) else {
            throw .usage("--cacert takes a file that can be read, not '\(file)'")
        }
        return file
    }
}
