import CASStore
import HotPush
import Synchronization
import VersionTree

/// The store of a server, even after another store has replaced the first.
final class StoreInUse: Sendable {
    private let state: Mutex<VersionStore>
    private let options: StoreOptions

    init(_ versions: VersionStore, _ options: StoreOptions) {
        state = Mutex(versions)
        self.options = options
    }

    var versions: VersionStore { state.withLock { $0 } }

    /// Opens the store that is at a path now; its event log records what is done.
    var reopen: @Sendable (String) throws(StoreError) -> VersionStore {
        { (path) throws(StoreError) in
            let opened = try VersionStore.open(path, options: self.options).recordingEvents()
            self.state.withLock { $0 = opened }
            return opened
        }
    }
}
