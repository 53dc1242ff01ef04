import CASStore
import Synchronization
import VersionTree

/// Says how far a download is that some process makes: `castree pull` in another terminal, or this one.
///
/// It follows from what the store holds, as on the dashboard: the one who downloads need not know of it.
/// One for all threads.
final class DownloadWatch: Sendable {
    private struct State {
        /// How many bytes of each incomplete version were there at the last look.
        var seen: [String: Int64] = [:]
        /// The version that pages were told of last, until it is whole.
        var told: (version: String, total: Int64)?
        /// Not before; a look costs what the incomplete versions name.
        var nextAt = Duration.zero
        /// How long the looks pause because nothing grows.
        var idle = Duration.zero
        var isLooking = false
    }

    /// A look that takes long is made the more rarely: all of them take a tenth of one processor at most.
    private static let restFactor = 10
    /// While what is incomplete stands still the pauses double, from one to the other.
    private static let idle = (first: Duration.milliseconds(500), last: Duration.seconds(30))

    private let store: @Sendable () -> VersionStore
    private var versions: VersionStore { store() }
    private let state = Mutex(State())
    /// Looks are made apart: at many objects one takes seconds.
    let work = StoreQueue()

    /// - Parameter store: the store that is served by then.
    init(_ store: @escaping @Sendable () -> VersionStore) { self.store = store }

    /// Forgets what was seen: nobody listens.
    func rest() {
        state.withLock { state in
            // One that is under way goes on being the only one.
            let isLooking = state.isLooking
            state = State()
            state.isLooking = isLooking
        }
    }

    /// Looks on a thread of its own, if it is time, and tells what there is to tell.
    ///
    /// Never waits.
    func look(now: Duration, tell: @escaping @Sendable (BridgeEvent) -> Void) {
        let isDue = state.withLock { state -> Bool in
            guard !state.isLooking, now >= state.nextAt else { return false }
            state.isLooking = true
            return true
        }
        guard isDue else { return }
        let isTaken = work.add {
            let event = self.look(now: now)
            self.state.withLock { $0.isLooking = false }
            if let event { tell(event) }
        }
        // Without a thread it is tried again.
        if !isTaken { state.withLock { $0.isLooking = false } }
    }

    /// What there is to tell since the last look; may wait for the disk.
    ///
    /// That a version is incomplete is no news, only that it grows. Of several that grow it is the newest.
    func look(now: Duration) -> BridgeEvent? {
        guard state.withLock({ now >= $0.nextAt }) else { return nil }
        let began = SystemClock.now
        // Pages do without; who downloads is told of a store that cannot be read.
        guard let progress = try? versions.progress() else { return nil }
        let took = SystemClock.now - began
        let (grown, gone) = state.withLock { state -> (VersionProgress?, (String, Int64)?) in
            let before = state.seen
            let grown = progress.first { $0.presentBytes > before[$0.version] ?? .max }
            state.seen = [:]
            for each in progress { state.seen[each.version] = each.presentBytes }
            let isIdle = !progress.isEmpty && state.seen == before
            state.idle = isIdle ? min(max(state.idle * 2, Self.idle.first), Self.idle.last) : .zero
            state.nextAt = now + max(took * Self.restFactor, state.idle)
            var gone: (String, Int64)?
            if let told = state.told, state.seen[told.version] == nil {
                gone = told
                state.told = nil
            }
            if let grown { state.told = (grown.version, grown.totalBytes) }
            return (grown, gone)
        }
        if let grown { return .progress(done: grown.presentBytes, total: grown.totalBytes) }
        // What is not incomplete any more may have been retired; if that cannot be told nothing is.
        guard let (version, total) = gone,
            let row = try? versions.store.versionRow(version), row.isComplete
        else { return nil }
        return .progress(done: total, total: total)
    }
}

extension VersionProgress {
    /// What is here, in whole objects and in parts.
    fileprivate var presentBytes: Int64 {
        min(totalBytes, totalBytes - missingBytes + stagedBytes)
    }
}
