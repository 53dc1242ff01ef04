import CASStore
import Console
import StoreCommands
import VersionTree

/// The store that a plan is made for: the one that exists, or an empty one if a pull would create it.
///
/// The empty one is a temporary directory, deleted with the plan.
final class PlanningStore {
    let versions: VersionStore
    private let aside: String?

    init(_ invocation: Invocation) throws {
        do {
            versions = try invocation.openStore()
            aside = nil
        } catch {
            guard .noStore ~= error else { throw error }
            let parent = invocation.environment("TMPDIR") ?? "/tmp"
            let path = "\(parent)/castree-plan-\(try randomToken())"
            versions = try VersionStore.create(
                at: path, options: try invocation.storeOptions(isDurable: false)
            ).versions
            aside = path
        }
    }

    deinit {
        guard let aside else { return }
        // At worst an empty store stays among other temporary files.
        try? POSIXFileSystem().removeTree(POSIXFileSystem.workingDirectory, aside)
    }
}
