import CASStore
import Synchronization
import VersionTree

/// The store that is served: the one opened first, or one that has taken its place; thread-safe.
final class ServedStore: Sendable {
    private let state: Mutex<VersionStore>
    let path: String
    private let options: StoreOptions
    private let reopen: (@Sendable (String) throws(StoreError) -> VersionStore)?

    /// - Parameter reopen: opens the store at a path; by default with the first one's options.
    init(
        _ versions: VersionStore,
        reopen: (@Sendable (String) throws(StoreError) -> VersionStore)? = nil
    ) {
        state = Mutex(versions)
        path = versions.store.absolutePath
        options = versions.store.options
        self.reopen = reopen
    }

    var versions: VersionStore { state.withLock { $0 } }

    enum Look {
        case same
        /// Another one is in its place, and is not served yet. `isGone`: the first was deleted.
        case other(VersionStore, isGone: Bool)
        case gone(StoreError)
        /// It is there but incomplete, and no other can be opened.
        case broken(StoreError)
    }

    func look() -> Look {
        let place: Store.Place
        do throws(StoreError) {
            place = try versions.store.place(at: path)
        } catch {
            // A brief failure of the disk does not mean that the store is gone.
            return .same
        }
        guard place != .here else { return .same }
        guard Store.stands(at: path, versions.fileSystem) else {
            let error = StoreError(
                .noStore,
                place == .gone
                    ? "no store at \(printable(path)); castree add makes one, which is served then"
                    : "the store at \(printable(path)) is missing some of its directories; restore them "
                        + "from a copy")
            return place == .gone ? .gone(error) : .broken(error)
        }
        do throws(StoreError) {
            // No `??`: the compiler (6.3) crashes on closures with typed errors there.
            if let reopen { return .other(try reopen(path), isGone: place == .gone) }
            return .other(
                try VersionStore.open(path, options: options), isGone: place == .gone)
        } catch {
            return place == .gone ? .gone(error) : .broken(error)
        }
    }

    func adopt(_ versions: VersionStore) { state.withLock { $0 = versions } }
}
