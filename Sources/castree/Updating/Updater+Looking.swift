import CASStore
import HotPush
import ServeFromCAS
import Synchronization

// Looking at what the origin offers while something is fetched.

extension Updater {
    /// It is time to ask the origin; while something is fetched, whether it still offers that.
    func ask() {
        let isFetching = state.withLock { $0.run?.isPlan == false && $0.fetched != nil }
        guard isFetching else { return want(.update) }
        Parallel.detach { [weak self] in self?.lookAgain() }
    }

    /// Lets a download give way if the origin offers something else by now: it may last for days.
    private func lookAgain() {
        guard let run = try? PullRun(settings, store: store, isPlan: true) else { return }
        var offered: String?
        let end = run.finish(warned: { _ in }, stopped: { _ in }, withdrawn: obey) { version in
            offered = version
            // What it would cost may take as long to find out as what is fetched.
            run.end()
        }
        // What this look does not find out, the next one does.
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

    /// Lets what was taken back wait no longer, while what is offered instead may still be coming.
    ///
    /// - Returns: whether it waited until now.
    func obey(_ withdrawal: Withdrawal) -> Bool {
        do throws(StoreError) {
            guard try versions().obey(withdrawal) else { return false }
            state.withLock { $0.server }?.follow()
            return true
        } catch {
            // The next check tells it again.
            journal.record(error, during: "update")
            return false
        }
    }

    /// Where an origin publishes faster than this device can fetch, something must come to an end.
    private static let yieldCountMax = 3
}
