import CASStore
import ClientSystems
import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

extension Invocation {
    /// `publish` to a directory.
    func publishToDirectory() throws -> ExitStatus {
        let name = try publishedVersion()
        let offer = try offer(of: name)
        let versions = try openStore()
        var publisher = try publisher()
        publisher.options.verifiesObjects = flag("verify")
        publisher.options.limits = try deviceLimits()
        publisher.options.beginsAmongOthers = flag("force")
        publisher.options.packs = try publishedPacks()
        let telling = try telling()
        publisher.options.telling = telling
        if telling.systems != nil {
            let origin = try DirectoryOrigin(publisher.path)
            try telling.check(offer.channel, in: origin.place)
        }
        let bars = follow(&publisher)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let plan =
            isDryRun
            ? try publisher.plan(name, of: versions, as: offer)
            : try publisher.publish(name, of: versions, as: offer)
        var outcomes = telling.outcomes
        if isDryRun, plan.facts != nil {
            let origin = try DirectoryOrigin(publisher.path)
            outcomes = try telling.outcomes(
                of: plan, try versions.registeredManifest(of: name), in: versions.store,
                origin: origin.place)
        }
        bars.finish()
        return try reportPlan(plan, outcomes, isDryRun: isDryRun)
    }
}
