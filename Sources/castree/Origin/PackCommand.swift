import CASStore
import Console
import HotPush
import Origin
import StoreCommands
import StrictJSON
import Synchronization

extension Command {
    static let pack = Command(
        "pack", summary: "makes the packs of a published version",
        discussion: """
            A pack holds many files in one, compressed: everything for a first download, or only \
            what changed since an older version, even inside files. castree publish makes packs \
            before it offers a version. This command makes them later, for a version that was \
            published with --no-packs or when there was no space. The version keeps its place in \
            the channel. Existing packs stay as they are, whatever their level. Only missing ones \
            are made; with --verify damaged ones are replaced.

                castree publish 42 /srv/www/updates --no-packs
                castree pack 42 /srv/www/updates
                castree pack 42 /srv/www/updates --pack-base 40
                castree pack 42 s3://updates/app --fetch-bases

            Packs for a bucket are made in the store's directory packing/. It keeps compressed \
            content for the next release; you can delete it at any time.
            """,
        arguments: [.version, .originDirectory],
        options: [.channel] + Option.packing + [
            .flag(
                "verify",
                "read the version's packs (in a bucket, only their sizes), and replace damaged ones"
            ),
            .flag("dry-run", "print what would be packed, and make nothing"),
            .noWait, .withoutSync,
        ] + Option.signing + Option.bucket
    ) { try $0.pack() }.reportingMissing
}

extension Option {
    static let packing: [Option] = [
        .integer(
            "level", in: 1...19,
            "the compression level: 3 takes a fiftieth of the time for twice the bytes; below 10, no deltas are made",
            fallback: 19),
        .integer(
            "packs-from", in: 0...60,
            "make packs from this many of the channel's last releases", fallback: 4
        ),
        .choice(
            "packs-for-old", of: PackOptions.PacksForOld.allCases.map(\.rawValue),
            "which packs with deltas have one without beside them, for devices of older castrees: those "
                + "from the newest release, all, or none",
            fallback: PackOptions.PacksForOld.newest.rawValue),
        .text(
            "pack-base", placeholder: "VERSION",
            "also make a pack from this version of the store, such as the one an app was shipped "
                + "with; repeatable",
            repeats: true, completion: .versions()),
        .flag(
            "fetch-bases",
            "fetch from the bucket those older releases that the store is missing; otherwise no pack is made from them"
        ),
    ]
}

extension Invocation {
    fileprivate func pack() throws -> ExitStatus {
        let (name, channel, origin) = (try version(), try channel(), argument("ORIGIN"))
        let versions = try openStore()
        let bars = PublishingBars(self)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let publisher = try publisher(isDraft: isDryRun, packs: packOptions()) {
            bars.report($0)
        }
        var (commit, packs): (OriginCommit?, PackReport?)
        if isDryRun {
            packs = try publisher.planPacks(name, of: versions, in: channel)
        } else {
            let done = try publisher.pack(name, of: versions, in: channel)
            bars.finish()
            try warn(done)
            (commit, packs) = (done, done.packing)
        }
        return try report { writer in
            writer.member("version", name)
            writer.member("origin", origin)
            writer.member("channel", channel.description)
            PackReport.writeMembers(of: packs, to: &writer)
            writer.member("changed", !(packs?.packs ?? []).isEmpty)
            writer.member("withdrawn", packs?.isWithdrawn ?? false)
            writer.member("dryRun", isDryRun)
            write(commit, of: publisher, withFetched: true, to: &writer)
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

    private func packOptions() throws -> PackOptions {
        var options = PackOptions()
        options.level = try integer("level") ?? options.level
        options.contentCount = try integer("packs-from") ?? options.contentCount
        options.baseVersions = values("pack-base")
        options.packsForOld =
            try value("packs-for-old").flatMap(PackOptions.PacksForOld.init) ?? options.packsForOld
        options.fetchesBases = isOriginInBucket && flag("fetch-bases")
        // The pack of everything, and as many as a delivery may name.
        let contentCount = options.contentCount + options.baseVersions.count
        let packCount =
            switch options.packsForOld {
            case .none: contentCount
            case .newest: contentCount + min(contentCount, 1)
            case .all: 2 * contentCount
            }
        guard packCount <= 63 else {
            throw CommandError.usage(
                "--packs-from and --pack-base name \(contentCount) contents, which give more than 63 packs"
            )
        }
        return options
    }

    func publishedPacks() throws -> PackOptions {
        var options = try packOptions()
        options.keptReleaseCount = try integer("keep-packs") ?? options.keptReleaseCount
        if flag("no-packs") {
            let others = [
                "packs-later", "level", "packs-from", "packs-for-old", "pack-base", "keep-packs",
                "fetch-bases",
            ]
            if let other = others.first(where: isGiven) {
                throw CommandError.usage("--no-packs and --\(other) exclude each other")
            }
        }
        if flag("no-packs") { options.timing = .never }
        if flag("packs-later") { options.timing = .after }
        return options
    }
}

/// The progress bars of a publisher, each begun with its own work, so that its clock measures nothing else.
final class PublishingBars: Sendable {
    private let invocation: Invocation
    private let current = Mutex<(step: PublishProgress.Step, bar: ProgressBar)?>(nil)

    init(_ invocation: Invocation) { self.invocation = invocation }

    func report(_ step: PublishProgress) {
        let bar = current.withLock { current in
            if let current, current.step == step.step { return current.bar }
            current?.bar.finish()
            let bar = invocation.progress(step.step.title)
            current = (step.step, bar)
            return bar
        }
        bar.report(step.bytes, of: step.bytesTotal)
    }

    func finish() {
        current.withLock { $0?.bar.finish() }
    }
}

extension PublishProgress.Step {
    fileprivate var title: String {
        switch self {
        case .checking: "Checking"
        case .packing: "Packing"
        case .deflating: "Deflating"
        case .patching: "Making patches"
        case .writing: "Publishing"
        }
    }
}

extension PackReport {
    /// Writes the members about the packs; the same ones if none are made.
    static func writeMembers(of report: PackReport?, to writer: inout JSONWriter) {
        writer.member("packs", report?.packs ?? []) { writer, pack in
            writer.member("from", pack.base?.description)
            writer.member("fromVersion", pack.version)
            writer.member("objects", pack.objectCount)
            writer.member("content", pack.contentByteCount)
            if let byteCount = pack.byteCount { writer.member("bytes", byteCount) }
            pack.shares.writeMember(to: &writer)
        }
        writer.member("packsKept", report?.keptPackCount ?? 0)
        writer.member("packsRefused", report?.refusals ?? []) { writer, refusal in
            writer.member("from", refusal.content.description)
            writer.member("fromVersion", refusal.version)
        }
        writer.member("packBytes", report?.byteCount ?? 0)
        writer.member("framesReused", report?.reusedFrameCount ?? 0)
        writer.member("framesCompressed", report?.madeFrameCount ?? 0)
    }

    func print(
        of version: String, in channel: ChannelName, to output: Output, _ sizes: SizeStyle
    ) {
        if isWithdrawn {
            return output.print(
                "Version \(version) has no packs: channel \(channel) no longer offers it.")
        }
        for pack in packs {
            let lacking =
                pack.version.map { "what version \($0) is missing" } ?? "what a base is missing"
            let what = pack.base == nil ? "everything" : lacking
            let content =
                "\(counted(pack.objectCount, "object")), \(sizes.text(pack.contentByteCount))"
            if let byteCount = pack.byteCount {
                let shares = pack.shares.text { sizes.text($0) }
                output.print(
                    "Packed \(what): \(content), in \(sizes.text(byteCount))"
                        + (shares.isEmpty ? "." : " (\(shares))."))
            } else {
                output.print("Would pack \(what): \(content).")
            }
        }
        if keptPackCount > 0 {
            output.print(
                keptPackCount == 1
                    ? "1 pack stays as it is." : "\(keptPackCount) packs stay as they are.")
        }
    }
}
