import CASStore
import Synchronization
package import VersionTree

/// The store that is served: the one opened first, or one that has taken its place; thread-safe.
package final class ServedStore: Sendable {
    private let state: Mutex<State>
    let path: String
    private let options: StoreOptions
    private let prepare: @Sendable (VersionStore) -> VersionStore

    private struct State {
        var served: VersionStore
        var newest: VersionStore
    }

    /// - Parameter prepare: called with a store that has taken the place of the first, opened with its options. The
    ///   program must renew whatever else it made from the first one.
    package init(
        _ versions: VersionStore,
        preparing prepare: @escaping @Sendable (VersionStore) -> VersionStore = { $0 }
    ) {
        state = Mutex(State(served: versions, newest: versions))
        path = versions.store.absolutePath
        options = versions.store.options
        self.prepare = prepare
    }

    var versions: VersionStore { state.withLock { $0.served } }
    /// The store that was opened last, which may still have to be served.
    package var newest: VersionStore { state.withLock { $0.newest } }

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
            let opened = prepare(try VersionStore.open(path, options: options))
            state.withLock { $0.newest = opened }
            return .other(opened, isGone: place == .gone)
        } catch {
            return place == .gone ? .gone(error) : .broken(error)
        }
    }

    func adopt(_ versions: VersionStore) { state.withLock { $0.served = versions } }
}
