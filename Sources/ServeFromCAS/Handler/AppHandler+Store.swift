import CASStore
import Synchronization
import VersionTree

// A store that is deleted and made again while the server runs. All that was made of the old one goes with it.
extension AppHandler {
    /// Looks whether the store still stands; goes on with one that stands in its place.
    ///
    /// May wait for the disk.
    /// - Returns: whether there is a store to be followed.
    func lookForStore() -> Bool {
        // One at a time: of two threads that find it gone one goes on with the other.
        lookingForStore.withLock { _ in
            switch store.look() {
            case .same: return true
            case .other(let versions, let isGone): return goOn(with: versions, isGone)
            case .gone(let error):
                if !shelf.isEmptied { letGoOfStore() }
                storeTrouble.tell("the store that is served is gone: \(error.message)")
                return false
            case .broken(let error):
                // What is open and pinned goes on being served: a page is worth more than news.
                storeTrouble.tell(
                    "the store that is served is not as it was opened: \(error.message)")
                return true
            }
        }
    }

    private func goOn(with versions: VersionStore, _ isGone: Bool) -> Bool {
        do throws(StoreError) {
            try shelf.move(to: versions)
        } catch {
            if isGone, !shelf.isEmptied { letGoOfStore() }
            storeTrouble.tell(
                "unable to go on with the store that stands at \(printable(store.path)) now: "
                    + error.message)
            return !shelf.isEmptied
        }
        letGoOfPages()
        objects.move(to: versions.store)
        replaceStartup(versions)
        remember(in: versions)
        storeTrouble.end()
        notice(
            "another store stands at \(printable(store.path)) now, and is served from here on")
        return true
    }

    /// Nothing is served any more, nothing is pinned, nothing is kept on the disk by being open.
    private func letGoOfStore() {
        shelf.empty()
        letGoOfPages()
        objects.close { _ in false }
        replaceStartup(nil)
    }

    /// What pages had is of the old store; they are treated as after a restart of the server.
    private func letGoOfPages() {
        pins.withLock { $0 = PinTable(limits: $0.limits, run: Self.newRun()) }
        announced.withLock { $0 = nil }
        rollbacks.withLock { $0 = [] }
    }

    /// The watch over starts, if there is one, begins anew over another store.
    private func replaceStartup(_ versions: VersionStore?) {
        let new = versions.flatMap { options.watch($0) }
        let old = starting.withLock { starting -> StartWatch? in
            defer { starting.watch = new }
            if !starting.isForeground { new?.setForeground(false, now: SystemClock.now) }
            return starting.watch
        }
        old?.letGo()
    }

    /// Whether pages are seen; see `AppServer.setForeground`.
    func setForeground(_ isForeground: Bool) {
        // The judge may wait for the store: not under what each page needs.
        let watch = starting.withLock { starting -> StartWatch? in
            starting.isForeground = isForeground
            return starting.watch
        }
        watch?.setForeground(isForeground, now: SystemClock.now)
    }
}
