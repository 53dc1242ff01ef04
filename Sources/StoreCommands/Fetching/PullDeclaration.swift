package import Console

extension Command {
    /// `pull`: fetches a version from an origin.
    ///
    /// Declared once for the two programs that have it: one shows its help and hands over, the other
    /// does the work.
    package static func pull(
        run: @escaping @Sendable (Invocation) throws -> ExitStatus
    ) -> Command {
        Command(
            "pull", summary: "fetches a version, downloading only what is missing",
            discussion: """
                URL is an origin made by castree publish (any web server, or a directory), or a \
                Meteor server. What any version in the store has already is not fetched again, \
                whatever its path was; every byte is verified; the version becomes visible in one \
                step, once it is whole, and waits for the next boot.

                    castree pull https://example.org/app
                    castree pull https://example.org/app --channel beta --activate
                    castree pull https://example.org/app --dry-run

                A channel's older pointer, from a cache or mirror that is behind, changes nothing, \
                and ends with exit status 21; --force takes it all the same.

                Interrupted, killed or cut off, the same command goes on where it stopped, within \
                files too. The store is created if it is not there.
                """,
            arguments: [Argument("URL", "where versions are published", completion: .directories)],
            options: [
                .choice(
                    "format", of: ["auto", "castree", "meteor", "8fit"],
                    "how the origin describes its versions", fallback: "auto"),
                .text(
                    "channel", placeholder: "NAME", "the channel of a castree origin",
                    fallback: "stable"),
                .text("version", placeholder: "NAME", "call the version so in the store"),
                .flag("activate", "make the version current once it is whole"),
                .flag("keep", "make it neither current nor pending"),
                .flag("dry-run", "say what would be fetched, and fetch nothing of it"),
                .integer(
                    "jobs", in: 1...256, "fetch this many files at once from a server", fallback: 16
                ),
                .text(
                    "limit-rate", placeholder: "BYTES",
                    "take at most this many bytes a second, also from a directory; K, M and G are "
                        + "units of 1024"),
                .integer(
                    "max-entries", in: 1...4_000_000,
                    "refuse a version with more entries than this, before they are in memory",
                    fallback: 250_000),
                .integer("retries", in: 0...100, "retry a file this many times", fallback: 8),
            ] + Option.reaching + [
                .text(
                    "device", placeholder: "ID",
                    "the identity that staged roll-outs choose by; kept out of reports"),
                .text(
                    "app", placeholder: "KIND=VALUE",
                    "what this app is: version=, compatibility=, runtimeVersion=, nativeInterface=, "
                        + "fingerprint=; group= for each group that the device is in",
                    repeats: true),
                .text("platform", placeholder: "NAME", "the app's platform, such as ios"),
                .flag(
                    "force",
                    "take a version that is banned, rolled out to others, or unsuited, and an older pointer"
                ),
            ], statuses: .pull, run: run)
    }
}
