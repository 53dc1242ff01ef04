import CASStore
import Synchronization
import VersionTree

/// Records in the store's event log which objects a server could not show.
///
/// Each is recorded once, up to a limit: the log is small, and one entry suffices to be noticed. Thread-safe; callers
/// never wait for the log.
final class DamageRecord: Sendable {
    private static let countMax = 16
    private let store: ServedStore
    private let told = Mutex<Set<ObjectID>>([])
    private let work = WorkQueue()

    init(_ store: ServedStore) { self.store = store }

    func add(_ failure: StoreError) {
        guard let object = failure.object else { return }
        let isNew = told.withLock { told in
            told.count < Self.countMax && told.insert(object).inserted
        }
        guard isNew else { return }
        // If the system cannot start a thread, the server's own notice remains.
        _ = work.add { [store] in store.versions.noteDamage(failure) }
    }
}
