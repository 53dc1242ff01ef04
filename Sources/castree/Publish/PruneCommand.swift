import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

extension Command {
    /// `prune`: collects an origin.
    static let prune = Command(
        "prune", summary: "deletes from an origin what its channels no longer need",
        discussion: """
            Keeps the newest releases of every channel, and older ones that some devices still get \
            because of roll-outs and requirements. A release that no channel lists any more stays \
            for a grace period, which begins with the first prune that finds it so: clients may \
            still be downloading it. Run it after publishing, or from cron.

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
        ]
    ) { invocation in
        var retention = OriginRetention()
        if let count = try invocation.integer("keep") { retention.releaseCount = count }
        if let grace = try invocation.seconds("grace") { retention.graceSeconds = grace }
        let publisher = try invocation.publisher()
        let isDryRun = invocation.flag("dry-run")
        let plan =
            isDryRun
            ? try publisher.planCollection(retention) : try publisher.collect(retention)
        return try invocation.report(plan, isDryRun: isDryRun)
    }.reportingAbsence
}

extension Invocation {
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
            writer.member("waiting", plan.waiting.count)
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
