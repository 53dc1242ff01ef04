import CASStore
import HotPush
import ServeFromCAS
import Synchronization

// Looking at what the origin offers while something is fetched.

extension Updater {
    /// Asks the origin when it is time; while something is fetched, asks whether that is still offered.
    func ask() {
        let run = state.withLock { $0.run }
        if let run, run.isSilent { Parallel.detach { [weak self] in self?.giveUp(run) } }
        guard let run, !run.isPlan, run.offered != nil else { return want(.update) }
        // One at a time: each may wait for ever for a mount whose server is gone.
        let isLooking = state.withLock { state in
            defer { state.isLooking = true }
            return state.isLooking
        }
        if isLooking { return }
        Parallel.detach { [weak self] in
            self?.lookAgain()
            self?.state.withLock { $0.isLooking = false }
        }
    }

    /// Reports a pull that makes no progress any more, and lets it end as soon as it can.
    private func giveUp(_ run: PullRun) {
        run.end()
        let minutes = PullRun.silence.components.seconds / 60
        failed(
            "the pull has made no progress for \(minutes) minutes and ends when it can",
            code: nil, isNoted: false)
    }

    /// Lets a download, which may last for days, give way if the origin now offers something else.
    private func lookAgain() {
        let run = PullRun(isPlan: true)
        // Finding out the cost may take as long as the download.
        let end = run.finish(settings, warned: { _ in }, withdrawn: obey) { run.end() }
        var offered = run.offered
        // The next look finds out what this one does not.
        switch end {
        case .checked(let checked, _, _) where !checked.isOlderCopy: offered = checked.version
        case .stopped where offered != nil: break
        default: return
        }
        let fetching: PullRun? = state.withLock { state in
            guard let fetched = state.run?.offered, fetched != offered,
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
    @Sendable func obey(_ withdrawal: Withdrawal) -> Bool {
        do throws(StoreError) {
            guard try versions().obey(withdrawal) else { return false }
            state.withLock { $0.server }?.follow()
            return true
        } catch {
            // The next check reports it again.
            eventLog.record(error, during: "update")
            return false
        }
    }

    /// If an origin publishes faster than this device can fetch, some download must still finish.
    private static let yieldCountMax = 3
}
