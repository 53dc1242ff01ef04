import CASStore
import Synchronization
import VersionTree

/// Reports the progress of a download by any process: `castree pull` in another terminal, or this one.
///
/// It reads the progress from the store, like the dashboard, so the downloading process need not know of it. All
/// threads share one watch.
final class DownloadWatch: Sendable {
    private struct State {
        /// How many bytes of each incomplete version the last look found.
        var seen: [String: Int64] = [:]
        /// How many bytes of each were here at the first look, which do not count as progress.
        var before: [String: Int64] = [:]
        /// The version that pages were last told of, and how many bytes it was missing, until it is complete.
        var told: (version: String, total: Int64)?
        /// No look before this time; its cost grows with the size of the incomplete versions.
        var nextAt = Duration.zero
        /// How long looks pause because nothing grows.
        var idle = Duration.zero
        var isLooking = false
    }

    /// Limits looks to a tenth of one processor, however long each takes.
    private static let restFactor = 10
    /// While nothing incomplete grows, the pauses double, from the first to the last.
    private static let idle = (first: Duration.milliseconds(500), last: Duration.seconds(30))

    private let store: @Sendable () -> VersionStore
    private var versions: VersionStore { store() }
    private let state = Mutex(State())
    /// Looks have their own queue: with many objects, one takes seconds.
    let work = WorkQueue()

    init(_ store: @escaping @Sendable () -> VersionStore) { self.store = store }

    /// Forgets what it saw, because nobody listens.
    func rest() {
        state.withLock { state in
            // A look under way remains the only one.
            let isLooking = state.isLooking
            state = State()
            state.isLooking = isLooking
        }
    }

    /// Looks on another thread, if it is time, and reports what is new; never waits.
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
        // If no thread can be started, it is tried again.
        if !isTaken { state.withLock { $0.isLooking = false } }
    }

    /// The newest version that has grown since the last look; may wait for the disk.
    func look(now: Duration) -> BridgeEvent? {
        guard state.withLock({ now >= $0.nextAt }) else { return nil }
        let began = SystemClock.now
        // Pages do without; the downloading process reports a store that cannot be read.
        guard let progress = try? versions.progress() else { return nil }
        let took = SystemClock.now - began
        let (grown, gone) = state.withLock { state -> (BridgeEvent?, (String, Int64)?) in
            let before = state.seen
            let grown = progress.first { $0.presentBytes > before[$0.version] ?? .max }
            state.seen = [:]
            var first: [String: Int64] = [:]
            for each in progress {
                state.seen[each.version] = each.presentBytes
                // A part that turned out to be wrong is removed again.
                first[each.version] = min(
                    state.before[each.version] ?? each.presentBytes, each.presentBytes)
            }
            state.before = first
            let isIdle = !progress.isEmpty && state.seen == before
            state.idle = isIdle ? min(max(state.idle * 2, Self.idle.first), Self.idle.last) : .zero
            state.nextAt = now + max(took * Self.restFactor, state.idle)
            var gone: (String, Int64)?
            if let told = state.told, state.seen[told.version] == nil {
                gone = told
                state.told = nil
            }
            guard let grown else { return (nil, gone) }
            let here = first[grown.version] ?? 0
            state.told = (grown.version, grown.totalBytes - here)
            return (
                .progress(
                    done: grown.presentBytes - here, total: grown.totalBytes - here,
                    version: grown.version), gone
            )
        }
        if let grown { return grown }
        // A version that is no longer incomplete may have been retired; if that is unclear, report nothing.
        guard let (version, total) = gone,
            let row = try? versions.store.versionRow(version), row.isComplete
        else { return nil }
        return .progress(done: total, total: total, version: version)
    }
}

extension VersionProgress {
    fileprivate var presentBytes: Int64 {
        min(totalBytes, totalBytes - missingBytes + stagedBytes)
    }
}
