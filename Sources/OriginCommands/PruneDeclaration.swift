package import Console
package import HotPush
import StoreCommands

extension Command {
    /// `prune`: collects an origin.
    ///
    /// Declared once for the two programs that have it, as ``pull(run:)`` is.
    package static func prune(
        run: @escaping @Sendable (Invocation) throws -> ExitStatus
    ) -> Command {
        Command(
            "prune", summary: "deletes from an origin what its channels no longer need",
            discussion: """
                Keeps the newest releases of every channel, and older ones that some devices still get \
                because of roll-outs and requirements. A release that no channel lists any more stays \
                for a grace period, which begins with the first prune that finds it so: clients may \
                still be downloading it. Run it after publishing, or from cron. A signed channel keeps \
                all its releases unless --sign-key signs the shorter list: cron needs no key.

                    castree prune /srv/www/updates --keep 5
                    castree prune /srv/www/updates --grace 7d --dry-run
                """,
            arguments: [.originDirectory],
            options: [
                .integer(
                    "keep", in: 1...ChannelPointer.releaseCountMax,
                    "keep this many releases of every channel", fallback: 10),
                .text(
                    "grace", placeholder: "TIME",
                    "keep what no channel lists for this long: 90s, 30m, 24h, 7d", fallback: "24h"),
                .flag("dry-run", "print what would be deleted, and delete nothing"),
                .noWait, .withoutSync,
            ] + Option.signing + Option.bucket,
            run: run
        ).reportingAbsence
    }
}

extension Invocation {
    /// What stays of an origin, by the command line.
    package func retention() throws -> OriginRetention {
        var retention = OriginRetention()
        if let count = try integer("keep") { retention.releaseCount = count }
        if let grace = try seconds("grace") { retention.graceSeconds = grace }
        return retention
    }
}
