import CASStore
import Console
import StoreCommands
import VersionTree

/// The store that a plan is made for; a temporary empty one, deleted with the plan, if a pull would create it.
final class PlanningStore {
    let versions: VersionStore
    private let aside: String?

    package convenience init(_ invocation: Invocation) throws {
        do {
            let options = try invocation.storeOptions()
            self.init(try VersionStore.open(invocation.storePath(), options: options), aside: nil)
        } catch {
            guard .noStore ~= error else { throw error }
            try self.init(asideFor: invocation)
        }
    }

    package convenience init(asideFor invocation: Invocation) throws {
        let parent = invocation.environment("TMPDIR") ?? "/tmp"
        let path = "\(parent)/castree-plan-\(try randomToken())"
        let options = try invocation.storeOptions(isDurable: false)
        self.init(try VersionStore.create(at: path, options: options).versions, aside: path)
    }

    private init(_ versions: VersionStore, aside: String?) {
        self.versions = versions
        self.aside = aside
    }

    deinit {
        guard let aside else { return }
        // At worst an empty store stays among other temporary files.
        try? POSIXFileSystem().removeTree(POSIXFileSystem.workingDirectory, aside)
    }
}
