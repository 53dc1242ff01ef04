extension Command {
    /// `channels`: lists what the channels of an origin offer.
    ///
    /// Declared once for the two programs that have it, as ``pull(run:)`` is.
    public static func channels(
        run: @escaping @Sendable (Invocation) throws -> ExitStatus
    ) -> Command {
        Command(
            "channels", summary: "lists the channels of an origin, and what each offers",
            discussion: """
                URL is an origin made by castree publish: a web server's URL, a directory, or the \
                URL of one channel's pointer. A device takes the newest release that is for it. \
                Neither a store nor more than the pointers is needed.

                    castree channels https://example.org/app
                    castree channels ./origin --json | jq -r '.[].channel'
                """,
            arguments: [Argument("URL", "where versions are published", completion: .directories)],
            options: [
                .text(
                    "timeout", placeholder: "TIME",
                    "give up on a connection that is silent for so long, as in 30s",
                    fallback: "30s"),
                .text(
                    "connect-timeout", placeholder: "TIME", "give up connecting after so long",
                    fallback: "20s"),
                .text("proxy", placeholder: "URL", "reach the origin through this proxy"),
                .text(
                    "cacert", placeholder: "FILE",
                    "trust these certificates instead of the system's",
                    completion: .files),
            ], run: run)
    }
}
