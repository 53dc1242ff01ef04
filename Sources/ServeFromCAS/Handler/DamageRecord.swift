import CASStore
import Synchronization
import VersionTree

/// Has the store's event log say which objects a server could not show.
///
/// Each once, and so many in all: the log is small, and one is enough for somebody to look. Safe to use from all
/// threads; none of them waits for the log.
final class DamageRecord: Sendable {
    /// How many objects one server names in the log.
    private static let countMax = 16
    private let store: ServedStore
    private let told = Mutex<Set<ObjectID>>([])
    private let work = StoreQueue()

    init(_ store: ServedStore) { self.store = store }

    /// Records it soon, if it is about an object that was not recorded yet.
    func add(_ failure: StoreError) {
        guard let object = failure.object else { return }
        let isNew = told.withLock { told in
            told.count < Self.countMax && told.insert(object).inserted
        }
        guard isNew else { return }
        // If the system can start no thread, what the server says of it remains.
        _ = work.add { [store] in store.versions.noteDamage(failure) }
    }
}
