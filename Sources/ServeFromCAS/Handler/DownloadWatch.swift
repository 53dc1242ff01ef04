import CASStore
import Synchronization
import VersionTree

/// Tells how far a download is that some process runs: `castree pull` in another terminal, or this one.
///
/// It reads this from the store, like the dashboard: the process that downloads need not know. All
/// threads share one.
final class DownloadWatch: Sendable {
    private struct State {
        /// How many bytes of each incomplete version the last look found.
        var seen: [String: Int64] = [:]
        /// How many bytes of each were here at the first look: they need not come, and are no progress.
        var before: [String: Int64] = [:]
        /// The version that pages were last told of, and the bytes that it lacked, until it is complete.
        var told: (version: String, total: Int64)?
        /// No look before this time; its cost grows with what the incomplete versions name.
        var nextAt = Duration.zero
        /// How long looks pause because nothing grows.
        var idle = Duration.zero
        var isLooking = false
    }

    /// The longer a look takes, the rarer looks are: together they use at most a tenth of one processor.
    private static let restFactor = 10
    /// While nothing incomplete grows, the pauses double, from the first to the last.
    private static let idle = (first: Duration.milliseconds(500), last: Duration.seconds(30))

    private let store: @Sendable () -> VersionStore
    private var versions: VersionStore { store() }
    private let state = Mutex(State())
    /// Looks have their own queue: with many objects, one takes seconds.
    let work = StoreQueue()

    /// - Parameter store: returns the store served at that time.
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

    /// Looks on another thread, if it is time, and tells what is new.
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
        // If no thread can be started, it is tried again.
        if !isTaken { state.withLock { $0.isLooking = false } }
    }

    /// What is new since the last look; may wait for the disk.
    ///
    /// An incomplete version is only news when it grows. Of several that grow, the newest is reported.
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
                // A part that turned out to be wrong is taken away again.
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
        // A version that is no longer incomplete may have been retired; if that is unclear, say nothing.
        guard let (version, total) = gone,
            let row = try? versions.store.versionRow(version), row.isComplete
        else { return nil }
        return .progress(done: total, total: total, version: version)
    }
}

extension VersionProgress {
    /// The bytes that are here, in whole objects and in parts.
    fileprivate var presentBytes: Int64 {
        min(totalBytes, totalBytes - missingBytes + stagedBytes)
    }
}
