import CASStore
import Console
import HotPush
import OriginCommands
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
            makes them before it offers a version. This command makes the packs of a version that \
            is offered already, because it was published with --no-packs, or there was no room; \
            the version keeps its place. Packs that it has stay as they are, at whatever level; \
            only what lacks is made, and with --verify what is damaged.

                castree publish 42 /srv/www/updates --no-packs
                castree pack 42 /srv/www/updates
                castree pack 42 /srv/www/updates --pack-base 40
            """,
        arguments: [
            .version,
            Argument(
                "ORIGIN", "the origin's directory, or its file: URL", completion: .directories),
        ],
        options: [.channel] + Option.packing + [
            .flag("verify", "read the packs that the version has, and make again what is wrong"),
            .flag("dry-run", "print what would be packed, and make nothing"),
            .noWait, .withoutSync,
        ]
    ) { invocation in
        let name = try invocation.version()
        let channel = try invocation.channel()
        let versions = try invocation.openStore()
        var publisher = try invocation.publisher()
        publisher.options.packs = try invocation.packOptions()
        publisher.options.verifiesObjects = invocation.flag("verify")
        let bars = invocation.follow(&publisher)
        defer { bars.finish() }
        let isDryRun = invocation.flag("dry-run")
        let report =
            isDryRun
            ? try publisher.planPacks(name, of: versions, in: channel)
            : try publisher.pack(name, of: versions, in: channel)
        bars.finish()
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
            writer.member("changed", !(packs?.packs ?? []).isEmpty)
            writer.member("withdrawn", packs?.isWithdrawn ?? false)
            writer.member("dryRun", isDryRun)
        } text: { output in
            guard let packs else {
                output.print(
                    "Nothing to pack: version \(name) in channel \(channel) of \(origin) has its packs."
                )
                return
            }
            packs.print(of: name, in: channel, to: output, sizes)
        }
    }
}
