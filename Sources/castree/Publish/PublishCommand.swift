import CASStore
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
        publisher.options.packs = try publishedPacks()
        let bars = follow(&publisher)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let plan =
            isDryRun
            ? try publisher.plan(name, of: versions, as: offer)
            : try publisher.publish(name, of: versions, as: offer)
        bars.finish()
        return try reportPlan(plan, isDryRun: isDryRun)
    }
}
