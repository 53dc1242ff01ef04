import CASStore
import Console
import HotPush
import Origin
import ServeFromCAS
import Synchronization
import VersionTree

/// Keeps the app of a server up to date: asks, fetches, chooses the next version, cleans up.
///
/// The server starts the chosen version, watches it and rolls it back; pure functions decide (`SwitchPolicy`,
/// `RetentionPlan`), and the store remembers. One thing at a time, on a thread of its own. Thread-safe.
final class Updater: Sendable {
    struct State {
        var server: AppServer?
        var wishes: Set<Work> = []
        var run: PullRun?
        var isEnded = false
        /// Waits for what is being carried out.
        var waiter: CheckedContinuation<Void, Never>?
        /// Whether the origin is asked what it offers while something is fetched.
        var isLooking = false
        var yieldCount = 0
        /// The last report of a check that brought nothing, so that it is reported once.
        var problem: String?
        /// The last event to pages about a pending version, so that it is sent once.
        var toldReady: BridgeEvent?
        /// Whether a page has asked since, and must get an answer.
        var isAsked = false
        /// The warnings of the last pull, which the next one does not repeat.
        var warnings: Set<String> = []
        var hasFailed = false
        var hiddenSince: Duration?
        /// The pending version that may be shown, because no page was visible for long enough.
        var released: String?
    }

    enum Work {
        case check, update, tidy
    }

    let settings: UpdateSettings
    let versions: @Sendable () -> VersionStore
    private let tell: @Sendable (String) -> Void
    let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let waker: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - versions: the store at its path, whichever it is by now.
    ///   - tell: gets a line for the operator; must not wait.
    init(
        _ settings: UpdateSettings, _ versions: @escaping @Sendable () -> VersionStore,
        tell: @escaping @Sendable (String) -> Void
    ) {
        self.settings = settings
        self.versions = versions
        self.tell = tell
        (wakes, waker) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    var asServed: ServedUpdates {
        ServedUpdates { [weak self] wish in
            self?.state.withLock { $0.isAsked = true }
            self?.want(wish == .check ? .check : .update)
        } noteForeground: { [weak self] in
            self?.noteForeground($0, now: SystemClock.now)
        }
    }

    // MARK: Running

    func run(for server: AppServer) async {
        state.withLock { $0.server = server }
        follow()
        let timer = Task.detached { [settings, weak self] in
            while !Task.isCancelled {
                self?.ask()
                // By a clock that nobody sets, and that runs while the system sleeps.
                do {
                    try await Task.sleep(for: settings.interval, clock: ContinuousClock())
                } catch { return }
            }
        }
        for await _ in wakes {
            while let work = next() { await onOwnThread { self.carryOut(work) } }
        }
        timer.cancel()
        state.withLock { $0.server = nil }
    }

    /// Ends: a pull is asked to stop, and keeps what has come.
    func end() {
        let run = state.withLock { state in
            state.isEnded = true
            return state.run
        }
        waker.finish()
        run?.end()
        Task.detached {
            // A thread that waits for a file system that hangs ends only with the process. Nothing cancels this sleep.
            try? await Task.sleep(for: Self.grace)
            self.waitNoLonger()
        }
    }

    private static let grace = Duration.seconds(5)

    func want(_ work: Work) {
        state.withLock { _ = $0.wishes.insert(work) }
        waker.yield()
    }

    private func next() -> Work? {
        state.withLock { state in
            guard !state.isEnded else { return nil }
            // An update is a check, too; what frees space comes first.
            for work in [Work.tidy, .update, .check] where state.wishes.contains(work) {
                state.wishes.remove(work)
                if work == .update { state.wishes.remove(.check) }
                return work
            }
            return nil
        }
    }

    private func onOwnThread(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            state.withLock { $0.waiter = continuation }
            Parallel.detach {
                body()
                self.waitNoLonger()
            }
        }
    }

    private func waitNoLonger() {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }

    private func carryOut(_ work: Work) {
        switch work {
        case .tidy: tidy()
        case .check, .update: pull(isPlan: work == .check)
        }
    }

    // MARK: Asking and fetching

    private func pull(isPlan: Bool) {
        announce(.checking)
        let run = PullRun(isPlan: isPlan)
        let (isEnded, before) = state.withLock { state in
            state.run = run
            return (state.isEnded, state.warnings)
        }
        if isEnded { run.end() }
        let warnings = Mutex<Set<String>>([])
        let end = run.finish(
            settings,
            warned: { [tell] warning in
                let isNew = warnings.withLock { $0.insert(warning).inserted }
                if isNew, !before.contains(warning) { tell(warning) }
            }, withdrawn: obey)
        state.withLock { state in
            state.run = nil
            let warnings = warnings.withLock { $0 }
            if case .checked = end {
                state.warnings = warnings
            } else {
                state.warnings.formUnion(warnings)
            }
            if end != .stopped, !isPlan { state.yieldCount = 0 }
        }
        do throws(StoreError) {
            try conclude(end, isPlan: isPlan)
        } catch {
            eventLog.record(error, during: "update")
            fail(
                "the store could not take what \(settings.origin) offers: \(error.message)",
                error.code.description)
        }
    }

    var eventLog: EventLog { EventLog(versions()) }

    /// Records a failure that the pull could not record itself.
    private func note(_ failure: String, code: String?) {
        var wish = PullOptions()
        wish.channel = settings.channel
        eventLog.record(
            .checked(
                origin: settings.origin, channel: wish.unusualChannel, outcome: .failed,
                version: nil, reason: failure, failure: code.map { EventLogFailure(code: $0) }))
    }

    /// Reports that the origin answers again, in the words that the pull has recorded.
    private func tellAnswering() {
        let hasFailed = state.withLock { state in
            defer { state.hasFailed = false }
            return state.hasFailed
        }
        // The line is for people; without the log, the result is reported all the same.
        guard hasFailed, let entries = try? eventLog.entries() else { return }
        for entry in entries.reversed() {
            if entry.event.name == "answers" { return tell(entry.sentence) }
            // The store had failed, and not the origin.
            if entry.event.answer?.isFailure == true { return }
        }
    }

    private func conclude(_ end: PullEnd, isPlan: Bool) throws(StoreError) {
        switch end {
        case .stopped: break
        case .failed(let message, let code, let isNoted):
            failed(message, code: code, isNoted: isNoted)
        case .checked(let checked, let byteCount, let isHere):
            tellAnswering()
            let before = try versions().lifecycle()
            if isPlan, let version = checked.version, before.current != version,
                before.pending != version
            {
                announce(
                    .available(
                        version: version, bytes: isHere ? 0 : byteCount,
                        isMandatory: checked.isMandatory))
                return
            }
            try take(isPlan ? Self.known(checked, before) : versions().obey(checked), before)
        }
    }

    func failed(_ message: String, code: String?, isNoted: Bool) {
        var (message, isNoted) = (message, isNoted)
        if code == StoreError.Code.noStore.description {
            // The pull could not record it anywhere; the server still has the store open, wherever it is now.
            message =
                "the store is no longer at \(settings.store), where its server looks for it: move it back, or "
                + "restart the server with its new --store"
            isNoted = false
        }
        if !isNoted { note(message, code: code) }
        state.withLock { $0.hasFailed = true }
        let isOfStore = code.map { EventLogFailure(code: $0).isOfStore } ?? false
        let what = isOfStore ? "the store cannot be updated" : "unable to update"
        fail("\(what): \(message)", code)
    }

    private static func known(_ checked: CheckedRelease, _ lifecycle: Lifecycle) -> ObeyedRelease {
        guard let version = checked.version else {
            return checked.withoutVersion
        }
        return lifecycle.pending == version
            ? .ready(version: version, isForced: checked.isMandatory)
            : .upToDate(.current(version))
    }

    private func take(_ obeyed: ObeyedRelease, _ before: Lifecycle) throws(StoreError) {
        // Otherwise a version that waits for less than the time between two looks would be reported neither as
        // pending nor as withdrawn.
        state.withLock { $0.server }?.follow()
        switch obeyed {
        case .upToDate(let reason):
            state.withLock { $0.problem = nil }
            // A version that a page still had when the next one was confirmed may be retired by now.
            if try !versions().planRetention(.generations(settings.keptGoodCount)).retired.isEmpty {
                want(.tidy)
            }
            announce(.upToDate([reason]))
        case .refused(let reasons): leave(reasons)
        case .ready(let version, let isForced):
            state.withLock { $0.problem = nil }
            let lifecycle = try versions().lifecycle()
            follow()
            let wait = waitsFor(version, lifecycle, isForced: isForced)
            let isNews = before.pending != version && before.current != version
            if isNews {
                // The version it replaced was never shown, and never will be.
                if before.pending != nil { want(.tidy) }
                let mandatory = isForced ? ", and is mandatory" : ""
                let rule = SwitchingRule(settings.policy, isForced: isForced, isBackground: false)
                let turn =
                    wait == nil && rule.reloads
                    ? "open pages load it now" : "it waits for \(wait?.sentence ?? "the next page")"
                tell("version \(version) is downloaded\(mandatory); \(turn)")
            }
            announce(
                .ready(
                    version: version, waitsFor: wait?.sentence, isMandatory: isForced,
                    waitsForCode: wait?.code))
        }
    }

    /// Whether to send pages an event: about a pending version only once, unless one of them has asked.
    private func isNews(_ event: BridgeEvent) -> Bool {
        state.withLock { state in
            switch event {
            case .checking: return true
            case .ready:
                defer { (state.toldReady, state.isAsked) = (event, false) }
                return state.toldReady != event || state.isAsked
            default:
                (state.toldReady, state.isAsked) = (nil, false)
                return true
            }
        }
    }

    /// What a version that is ready waits for, besides a page to be loaded.
    private func waitsFor(
        _ version: String, _ lifecycle: Lifecycle, isForced: Bool
    ) -> SwitchWait? {
        // The judge of starts knows whether the next page starts it.
        let isNext = state.withLock { $0.server }?.startsPending(lifecycle) ?? true
        let wait = settings.policy.wait(
            isForced: isForced, at: .navigation,
            isTrusted: isNext || lifecycle.unconfirmed == nil)
        if let wait { return wait }
        // After a start that failed, whatever the policy says.
        return isNext || !lifecycle.isResting(version) ? nil : .nextStart
    }

    private func leave(_ reasons: [CheckReason]) {
        let sentences = reasons.map(\.sentence).joined(separator: "; ")
        tellOnce("nothing is fetched from \(settings.origin): \(sentences)")
        announce(.upToDate(reasons))
    }

    private func fail(_ sentence: String, _ code: String?) {
        // The number of free bytes differs each time.
        tellOnce(sentence, of: sentence.filter { !$0.isNumber })
        announce(.updateFailed(message: sentence, code: code ?? "fetchingFailed"))
    }

    /// Reports something that every check may repeat.
    /// - Parameter problem: a text that stays the same while the sentence need not be repeated; by default the
    ///   sentence.
    private func tellOnce(_ sentence: String, of problem: String? = nil) {
        let problem = problem ?? sentence
        let isNews = state.withLock { state in
            defer { state.problem = problem }
            return state.problem != problem
        }
        if isNews { tell(sentence) }
    }

    private func announce(_ event: BridgeEvent) {
        guard isNews(event) else { return }
        state.withLock { $0.server }?.bridge.announce(event)
    }

    // MARK: Following

    func lifecycleChanged(_ before: Lifecycle, _ now: Lifecycle) {
        if now.knownGood.contains(where: { !before.knownGood.contains($0) }) { want(.tidy) }
        follow()
    }

    private func noteForeground(_ isForeground: Bool, now: Duration) {
        guard case .background(let least) = settings.policy else { return }
        let since = state.withLock { state -> Duration? in
            state.hiddenSince = isForeground ? nil : state.hiddenSince ?? now
            return state.hiddenSince
        }
        guard let since, now - since >= least else { return }
        follow(isBackground: true)
    }

    /// Tells the server when pages get the pending version.
    /// - Parameter isBackground: whether no page has been visible for as long as the policy asks.
    private func follow(isBackground: Bool = false) {
        guard let server = state.withLock({ $0.server }) else { return }
        do throws(StoreError) {
            let store = versions()
            let lifecycle = try store.lifecycle()
            try store.clearPendingForced(lifecycle)
            // Once pages were told of it, coming back does not take it from them.
            let isReleased = state.withLock { state in
                if isBackground { state.released = lifecycle.pending }
                return state.released != nil && state.released == lifecycle.pending
            }
            server.setSwitching(
                SwitchingRule(
                    settings.policy, isForced: try store.isForced(lifecycle),
                    isBackground: isReleased))
        } catch {
            tellOnce("unable to determine when to switch: \(error.message)")
        }
    }

    private func tidy() {
        do throws(StoreError) {
            let store = versions()
            guard let tidied = try store.tidy(keptGoodCount: settings.keptGoodCount) else { return }
            let names = tidied.versions.joined(separator: ", ")
            tell(
                names.isEmpty
                    ? "freed \(SizeStyle.binary.text(tidied.byteCount))"
                    : "retired \(names), freed \(SizeStyle.binary.text(tidied.byteCount))")
        } catch {
            tellOnce("unable to free space: \(error.message)")
        }
    }
}
