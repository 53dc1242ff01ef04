import CASStore
import HotPush
import ServeFromCAS
import Synchronization

// Looking at what the origin offers while something is fetched.

extension Updater {
    /// Asks the origin when it is time; while something is fetched, asks whether that is still offered.
    func ask() {
        let isFetching = state.withLock { $0.run?.isPlan == false && $0.fetched != nil }
        guard isFetching else { return want(.update) }
        Parallel.detach { [weak self] in self?.lookAgain() }
    }

    /// Lets a download, which may last for days, give way if the origin now offers something else.
    private func lookAgain() {
        guard let run = try? PullRun(settings, store: store, isPlan: true) else { return }
        var offered: String?
        let end = run.finish(warned: { _ in }, stopped: { _ in }, withdrawn: obey) { version in
            offered = version
            // Finding out the cost may take as long as the download.
            run.end()
        }
        // The next look finds out what this one does not.
        switch end {
        case .checked(let checked, _, _) where !checked.isOlderCopy: offered = checked.version
        case .stopped where offered != nil: break
        default: return
        }
        let fetching: PullRun? = state.withLock { state in
            guard let fetched = state.fetched, fetched != offered,
                state.yieldCount < Self.yieldCountMax
            else { return nil }
            state.yieldCount += 1
            state.wishes.insert(.update)
            return state.run
        }
        fetching?.end()
    }

    /// Removes a withdrawn version from the pending place, while its replacement may still be coming.
    /// - Returns: whether it was pending until now.
    func obey(_ withdrawal: Withdrawal) -> Bool {
        do throws(StoreError) {
            guard try versions().obey(withdrawal) else { return false }
            state.withLock { $0.server }?.follow()
            return true
        } catch {
            // The next check reports it again.
            journal.record(error, during: "update")
            return false
        }
    }

    /// If an origin publishes faster than this device can fetch, some download must still finish.
    private static let yieldCountMax = 3
}
