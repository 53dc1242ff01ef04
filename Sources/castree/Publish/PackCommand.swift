import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

extension Invocation {
    /// `pack` in a directory.
    func packInDirectory() throws -> ExitStatus {
        let name = try version()
        let channel = try channel()
        let versions = try openStore()
        var publisher = try publisher()
        publisher.options.packs = try packOptions()
        publisher.options.verifiesObjects = flag("verify")
        let bars = follow(&publisher)
        defer { bars.finish() }
        let isDryRun = flag("dry-run")
        let report =
            isDryRun
            ? try publisher.planPacks(name, of: versions, in: channel)
            : try publisher.pack(name, of: versions, in: channel)
        bars.finish()
        return try reportPacking(report, of: name, in: channel, isDryRun: isDryRun)
    }
}
