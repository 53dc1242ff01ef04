import CASStore
import ClientSystems
import Console
import HotPush
import StoreCommands
import StrictJSON
import VersionTree

extension PublishPlan {
    /// What the channel says of the version.
    fileprivate var offered: OfferedRelease? {
        pointer.releases.first { $0.version?.name == version.name }
    }
}

extension Invocation {
    /// Says what `publish` has written, or would write.
    func reportPlan(
        _ plan: PublishPlan, _ clients: [ClientOutcome] = [], isDryRun: Bool,
        more: (inout JSONWriter) -> Void = { _ in }
    ) throws -> ExitStatus {
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
            plan.pointer.writeSigning(to: &writer) { timestamp($0) }
            writer.member("perMille", plan.offered?.rollout?.perMille ?? 1000)
            writer.member("twins", plan.facts?.twins.count ?? 0)
            writer.member("twinBytes", plan.facts?.twins.byteCount ?? 0)
            writer.member("facts", plan.facts?.address.description)
            clients.writeMembers(to: &writer)
            let packs = plan.packing?.packs ?? []
            writer.member("changed", plan.writesPointer || !packs.isEmpty)
            writer.member("dryRun", isDryRun)
            more(&writer)
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
            if let signing = plan.pointer.signingText({ timestamp($0) }) {
                output.print("Channel \(channel) is \(signing).")
            }
            print(plan.offered?.rollout, to: output)
            print(plan.facts, to: output)
            clients.print(to: output, isDryRun: isDryRun)
            plan.packing?.print(of: "\(name)", in: channel, to: output, sizes)
        }
    }

    /// Says whom a roll-out reaches; nothing where it is for all.
    private func print(_ rollout: Rollout?, to output: Output) {
        guard let rollout, rollout.perMille < 1000 else { return }
        output.print(
            "It reaches \(rollout.perMille) of 1,000 devices, chosen by the id that each store draws or --device names; "
                + "older castree without --device gets only what is for all.")
    }

    /// Says what is written for the clients of other systems; nothing where all of it was there.
    func print(_ facts: PlannedFacts?, in epoch: Int64 = 0, to output: Output) {
        guard let facts, facts.writesFile || facts.twins.count > 0 else { return }
        let twins = counted(facts.twins.count, "deflated twin")
        output.print(
            "For the clients of other systems: \(twins), \(sizes.text(facts.twins.byteCount)), and "
                + "\(OriginLayout.facts(facts.address, in: epoch)).")
    }
}
