import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension Command {
    /// `pack`: makes the packs of a release that is offered.
    static let pack = Command(
        "pack", summary: "makes the packs of a version that an origin offers",
        discussion: """
            A pack holds many files in one, compressed: everything for a first download, or what \
            an older content lacks, with only the differences inside the files. castree publish \
            makes them unless it was told not to. Here they follow for a release that is offered \
            already, which keeps its place; if it is withdrawn meanwhile, nothing happens. If the \
            release has its packs, nothing is made.

                castree publish 42 /srv/www/updates --no-packs
                castree pack 42 /srv/www/updates
                castree pack 42 /srv/www/updates --pack-base 40
            """,
        arguments: [.version, .originDirectory],
        options: [.channel] + Option.packing + [
            .flag("dry-run", "print what would be packed, and make nothing"),
            .noWait, .withoutSync,
        ]
    ) { invocation in
        let name = try invocation.version()
        let channel = try invocation.channel()
        let versions = try invocation.openStore()
        var publisher = try invocation.publisher()
        publisher.options.packs = try invocation.packOptions()
        let bars = invocation.follow(&publisher)
        defer { for bar in bars { bar.finish() } }
        let isDryRun = invocation.flag("dry-run")
        let report =
            isDryRun
            ? try publisher.planPacks(name, of: versions, in: channel)
            : try publisher.pack(name, of: versions, in: channel)
        for bar in bars { bar.finish() }
        return try invocation.report(report, of: name, in: channel, isDryRun: isDryRun)
    }.reportingAbsence
}

extension Invocation {
    fileprivate func report(
        _ packs: PackReport?, of name: String, in channel: ChannelName, isDryRun: Bool
    ) throws -> ExitStatus {
        let origin = argument("ORIGIN")
        return try report { writer in
            writer.member("version", name)
            writer.member("origin", origin)
            writer.member("channel", channel.description)
            PackReport.writeMembers(of: packs, to: &writer)
            writer.member("changed", packs != nil)
            writer.member("dryRun", isDryRun)
        } text: { output in
            guard let packs else {
                output.print(
                    "Nothing to pack: version \(name) in channel \(channel) of \(origin) has its packs, "
                        + "or is offered no more.")
                return
            }
            packs.print(to: output, sizes)
        }
    }
}
