import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands
import StrictJSON
import VersionTree

extension Invocation {
    /// `publish` to a directory.
    func publishToDirectory() throws -> ExitStatus {
        let name = try version()
        let offer = try offer(of: name)
        let versions = try openStore()
        var publisher = try publisher()
        publisher.options.verifiesObjects = flag("verify")
        publisher.options.packs = try packs()
        let bars = follow(&publisher)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let plan =
            isDryRun
            ? try publisher.plan(name, of: versions, as: offer)
            : try publisher.publish(name, of: versions, as: offer)
        bars.finish()
        return try report(plan, isDryRun: isDryRun)
    }

    /// When the packs are made, and which.
    fileprivate func packs() throws -> PackOptions {
        var options = try packOptions()
        options.keptReleaseCount = try integer("keep-packs") ?? options.keptReleaseCount
        if flag("no-packs") {
            let others = ["packs-later", "level", "packs-from", "pack-base", "keep-packs"]
            if let other = others.first(where: isGiven) {
                throw CommandError.usage("--no-packs and --\(other) exclude each other")
            }
        }
        if flag("no-packs") { options.moment = .never }
        if flag("packs-later") { options.moment = .after }
        return options
    }

    fileprivate func report(_ plan: PublishPlan, isDryRun: Bool) throws -> ExitStatus {
        let origin = argument("ORIGIN")
        return try report { writer in
            writer.member("version", plan.version.name.description)
            writer.member("origin", origin)
            writer.member("objects", plan.objects.count)
            writer.member("bytes", plan.byteCount)
            writer.member("channel", plan.pointer.channel.description)
            writer.member("reusedObjects", plan.reusedObjectCount)
            writer.member("reusedBytes", plan.reusedByteCount)
            writer.member("manifest", plan.version.manifest.description)
            writer.member("manifestBytes", plan.writesManifest ? plan.version.manifestByteCount : 0)
            PackReport.writeMembers(of: plan.packing, to: &writer)
            writer.member("sequence", plan.pointer.sequence)
            let packs = plan.packing?.packs ?? []
            writer.member("changed", plan.writesPointer || !packs.isEmpty)
            writer.member("dryRun", isDryRun)
        } text: { output in
            let objects = counted(plan.objects.count, "new object")
            let new = "\(objects), \(sizes.text(plan.byteCount))."
            let (name, channel) = (plan.version.name, plan.pointer.channel)
            if plan.writesPointer {
                let deed: DisplayText = isDryRun ? "Would publish" : "Published"
                output.print("\(deed) version \(name) to \(origin), channel \(channel): \(new)")
            } else {
                output.print(
                    "Channel \(channel) of \(origin) already offers version \(name); \(new)")
            }
            plan.packing?.print(of: "\(name)", in: channel, to: output, sizes)
        }
    }
}
