import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON
import Synchronization

extension Invocation {
    /// The packs that the command line asks for.
    func packOptions() throws -> PackOptions {
        var options = PackOptions()
        options.level = try integer("level") ?? options.level
        options.contentCount = try integer("packs-from") ?? options.contentCount
        options.baseVersions = values("pack-base")
        options.fetchesBases = isOriginInBucket && flag("fetch-bases")
        // Its own, the one of everything, and as many as a delivery may name.
        guard options.contentCount + options.baseVersions.count <= 63 else {
            throw CommandError.usage("--packs-from and --pack-base name more than 63 contents")
        }
        return options
    }

    /// When `publish` makes the packs, and which.
    func publishedPacks() throws -> PackOptions {
        var options = try packOptions()
        options.keptReleaseCount = try integer("keep-packs") ?? options.keptReleaseCount
        if flag("no-packs") {
            let others = [
                "packs-later", "level", "packs-from", "pack-base", "keep-packs", "fetch-bases",
            ]
            if let other = others.first(where: isGiven) {
                throw CommandError.usage("--no-packs and --\(other) exclude each other")
            }
        }
        if flag("no-packs") { options.moment = .never }
        if flag("packs-later") { options.moment = .after }
        return options
    }
}

/// The bars of a publisher: each begins when its work does, so its clock tells of nothing else.
final class PublishingBars: Sendable {
    private let invocation: Invocation
    private let current = Mutex<(step: PublishProgress.Step, bar: ProgressBar)?>(nil)

    /// Makes none yet.
    init(_ invocation: Invocation) { self.invocation = invocation }

    /// Shows a step; from any thread.
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

    /// Ends the bar that is shown.
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
        case .writing: "Publishing"
        }
    }
}

extension PackReport {
    /// Writes the members that tell of the packs; the same ones where none are made.
    static func writeMembers(of report: PackReport?, to writer: inout JSONWriter) {
        writer.member("packs", report?.packs ?? []) { writer, pack in
            writer.member("from", pack.base?.description)
            writer.member("fromVersion", pack.version)
            writer.member("objects", pack.objectCount)
            writer.member("content", pack.contentByteCount)
            if let byteCount = pack.byteCount { writer.member("bytes", byteCount) }
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

    /// Prints a line for each pack.
    /// - Parameter version: the version to which they lead.
    func print(
        of version: String, in channel: ChannelName, to output: Output, _ sizes: SizeStyle
    ) {
        if isWithdrawn {
            return output.print(
                "Version \(version) has no packs: channel \(channel) offers it no more.")
        }
        for pack in packs {
            let lacking = pack.version.map { "what version \($0) lacks" } ?? "what a base lacks"
            let what = pack.base == nil ? "everything" : lacking
            let content =
                "\(counted(pack.objectCount, "object")), \(sizes.text(pack.contentByteCount))"
            if let byteCount = pack.byteCount {
                output.print(
                    "Packed \(what): \(content), in \(sizes.text(byteCount)).")
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
