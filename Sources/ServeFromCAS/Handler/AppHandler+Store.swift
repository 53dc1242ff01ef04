import CASStore
import Synchronization
import VersionTree

// A store may be deleted and made again while the server runs. Everything made from the old one goes with it.
extension AppHandler {
    /// Checks whether the store still exists; continues with one that has taken its place.
    ///
    /// May wait for the disk.
    /// - Returns: whether there is a store to follow.
    func lookForStore() -> Bool {
        // One thread at a time: a second one uses what the first has found.
        lookingForStore.withLock { _ in
            switch store.look() {
            case .same: return true
            case .other(let versions, let isGone): return goOn(with: versions, isGone)
            case .gone(let error):
                if !cache.isEmptied { letGoOfStore() }
                storeFailure.tell("the store that is served is gone: \(error.message)")
                return false
            case .broken(let error):
                // Continue to serve what is open and pinned: pages matter more than news.
                storeFailure.tell(
                    "the served store has changed since it was opened: \(error.message)")
                return true
            }
        }
    }

    private func goOn(with versions: VersionStore, _ isGone: Bool) -> Bool {
        do throws(StoreError) {
            try cache.move(to: versions)
        } catch {
            if isGone, !cache.isEmptied { letGoOfStore() }
            storeFailure.tell(
                "unable to continue with the store that is now at \(printable(store.path)): "
                    + error.message)
            return !cache.isEmptied
        }
        letGoOfPages()
        objects.move(to: versions.store)
        starts.replace(by: options.watch(versions, showing: startPage.isShown))
        remember(in: versions)
        storeFailure.end()
        notice(
            "another store is now at \(printable(store.path)), and is served from now on")
        return true
    }

    /// From here on nothing is served or pinned, and no open file keeps anything on the disk.
    private func letGoOfStore() {
        cache.empty()
        letGoOfPages()
        objects.close { _ in false }
        starts.replace(by: nil)
    }

    /// The pages come from the old store; they are treated as after a restart of the server.
    private func letGoOfPages() {
        pins.withLock { $0.forgetPages(run: Self.newRun()) }
        announcements.withLock { $0.forgetVersions() }
    }

    static func newRun() -> String { String(newBrowser().prefix(8)) }

    static func newBrowser() -> String {
        // Without random numbers, a counter still distinguishes browsers.
        let token = try? randomToken()
        return token ?? String(String(SystemClock.nanoseconds).reversed()) + "withoutrandomness"
    }
}
