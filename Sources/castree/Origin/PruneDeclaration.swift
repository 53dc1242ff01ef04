import Console
import HotPush
import StoreCommands

extension Command {
    /// `prune`: collects an origin.
    static let prune = Command(
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
        ] + Option.signing + Option.bucket
    ) { try $0.prune() }.reportingAbsence
}

extension Invocation {
    /// What stays of an origin, by the command line.
    func retention() throws -> OriginRetention {
        var retention = OriginRetention()
        if let count = try integer("keep") { retention.releaseCount = count }
        if let grace = try seconds("grace") { retention.graceSeconds = grace }
        return retention
    }
}
