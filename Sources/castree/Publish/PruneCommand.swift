import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands
import StrictJSON

extension Invocation {
    /// `prune` of an origin in a directory.
    func pruneDirectory() throws -> ExitStatus {
        let retention = try retention()
        let publisher = try publisher()
        let isDryRun = flag("dry-run")
        let plan =
            isDryRun
            ? try publisher.planCollection(retention) : try publisher.collect(retention)
        return try report(plan, isDryRun: isDryRun)
    }

    fileprivate func report(
        _ plan: OriginCollectionPlan, isDryRun: Bool
    ) throws -> ExitStatus {
        try report { writer in
            writer.member("origin", argument("ORIGIN"))
            writer.member("releases", plan.releaseCount)
            writer.member("manifests", plan.manifests.count)
            writer.member("objects", plan.objects.count)
            writer.member("bytes", plan.byteCount)
            writer.member("packs", plan.packs.count)
            writer.member("packBytes", plan.packByteCount)
            writer.member("deliveries", plan.deliveries.count)
            writer.member("twins", plan.twins.count)
            writer.member("twinBytes", plan.twinByteCount)
            writer.member("facts", plan.facts.count)
            writer.member("leftovers", plan.leftovers.count)
            writer.member("waiting", plan.waiting.count)
            writer.member("waitingFacts", plan.waitingFacts.count)
            writer.member("waitingDeliveries", plan.waitingDeliveries.count)
            writer.member("dryRun", isDryRun)
        } text: { output in
            let deed = isDryRun ? "Would delete" : "Deleted"
            let objects = counted(plan.objects.count, "object")
            let manifests = counted(plan.manifests.count, "manifest")
            output.print("\(deed) \(objects), \(sizes.text(plan.byteCount)), and \(manifests).")
            if !plan.packs.isEmpty || !plan.deliveries.isEmpty {
                let packs = counted(plan.packs.count, "pack")
                let deliveries = deliveryCount(plan.deliveries)
                output.print(
                    "\(deed) \(packs), \(sizes.text(plan.packByteCount)), and \(deliveries).")
            }
            if !plan.twins.isEmpty || !plan.facts.isEmpty || !plan.leftovers.isEmpty {
                let twins = counted(plan.twins.count, "deflated twin")
                let files = counted(plan.facts.count + plan.leftovers.count, "file")
                output.print(
                    "\(deed) \(twins), \(sizes.text(plan.twinByteCount)), and \(files) for the clients of other systems."
                )
            }
            if plan.releaseCount > 0 {
                let releases = counted(plan.releaseCount, "release")
                output.print(
                    isDryRun
                        ? "The channels would no longer list \(releases)."
                        : "The channels no longer list \(releases).")
            }
            if !plan.waiting.isEmpty {
                output.print(
                    "\(counted(plan.waiting.count, "manifest")) kept for the grace period.")
            }
            if !plan.waitingFacts.isEmpty {
                output.print(
                    "\(counted(plan.waitingFacts.count, "file")) with facts kept for the grace period, with the twins they name."
                )
            }
            if !plan.waitingDeliveries.isEmpty {
                let deliveries = deliveryCount(plan.waitingDeliveries)
                output.print("\(deliveries) kept for the grace period, with the packs they name.")
            }
        }
    }
}

private func deliveryCount(_ deliveries: [ObjectID]) -> String {
    deliveries.count == 1 ? "1 delivery" : "\(groupedCount(deliveries.count)) deliveries"
}
