import Console
import HotPush
import StoreCommands
import StrictJSON

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
                castree pack 42 s3://updates/app --fetch-bases

            Packs for a bucket are made in the store, in its directory packing/. It keeps what was \
            compressed, for the next release; you can delete it at any time.
            """,
        arguments: [.version, .originDirectory],
        options: [.channel] + Option.packing + [
            .flag(
                "verify",
                "read the packs that the version has (in a bucket, only their sizes), and make again what is wrong"
            ),
            .flag("dry-run", "print what would be packed, and make nothing"),
            .noWait, .withoutSync,
        ] + Option.signing + Option.bucket
    ) { try $0.pack() }.reportingAbsence
}

extension Invocation {
    /// Says what `pack` has made.
    func reportPacking(
        _ packs: PackReport?, of name: String, in channel: ChannelName, isDryRun: Bool,
        more: (inout JSONWriter) -> Void = { _ in }
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
            more(&writer)
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
