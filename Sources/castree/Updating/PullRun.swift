import CASStore
import Console
import HotPush
import StoreCommands
import Synchronization
import VersionTree

/// How a pull of the updater ended.
enum PullEnd: Sendable, Hashable {
    /// With a result; the offered release may be banned here.
    case checked(CheckedRelease, byteCount: Int64, isHere: Bool)
    /// With an error; the app continues with what it has.
    ///
    /// `code`: the error's, if it has one. `isNoted`: the event log has it.
    case failed(String, code: String?, isNoted: Bool)
    case stopped
}

/// One `castree pull --keep` of the updater, on the thread that calls it; any thread may end it.
///
/// It opens the store at its path anew, with a connection of its own: what it does there keeps no page waiting.
final class PullRun: Sendable {
    let isPlan: Bool
    private let isStopped = Atomic<Bool>(false)
    private let state = Mutex(State())

    private struct State {
        var offered: String?
        var hasTakenBack = false
        var movedAt = SuspendingClock.now
    }

    /// How long it may make no progress, including waits for the store; while it fetches, it reports ten times a second.
    static let silence = Duration.seconds(15 * 60)

    /// - Parameter isPlan: whether to fetch nothing.
    init(isPlan: Bool) { self.isPlan = isPlan }

    /// Asks it to end; what has come is kept.
    func end() { isStopped.store(true, ordering: .relaxed) }

    private var isInterrupted: Bool {
        isStopped.load(ordering: .relaxed) || Interruption.isRequested
    }

    /// The version that it fetches or would fetch; `nil` before the origin has offered one.
    var offered: String? { state.withLock { $0.offered } }

    /// Whether it waits for something that does not come, such as an answer of a mount whose server is gone.
    var isSilent: Bool { state.withLock { .now - $0.movedAt > Self.silence } }

    /// - Parameters:
    ///   - warned: gets the sentences of its warnings; must not wait.
    ///   - withdrawn: gets a pending version that was withdrawn; returns whether it is no longer pending.
    ///   - offered: called when it is about to fetch a version.
    func finish(
        _ settings: UpdateSettings, warned: @escaping @Sendable (String) -> Void,
        withdrawn: @escaping @Sendable (Withdrawal) -> Bool,
        offered: @escaping @Sendable () -> Void = {}
    ) -> PullEnd {
        do throws(CommandError) {
            let invocation = try settings.pull(isPlan: isPlan, warned: warned)
            do {
                return try outcome(invocation, withdrawn, offered)
            } catch {
                return failure(CommandError(reportingStore: error), invocation)
            }
        } catch {
            return .failed(error.message, code: error.code, isNoted: false)
        }
    }

    private func outcome(
        _ invocation: Invocation, _ withdrawn: @escaping @Sendable (Withdrawal) -> Bool,
        _ offered: @escaping @Sendable () -> Void
    ) throws -> PullEnd {
        var work = try invocation.pullWork()
        work.options.isForServer = true
        work.options.isInterrupted = { self.isInterrupted }
        work.options.progress = { _ in self.state.withLock { $0.movedAt = .now } }
        work.options.offered = { version, _ in
            self.state.withLock { ($0.offered, $0.movedAt) = (version, .now) }
            offered()
        }
        work.options.withdrawn = { withdrawal in
            if withdrawn(withdrawal) { self.state.withLock { $0.hasTakenBack = true } }
        }
        var options = try invocation.storeOptions()
        options.isInterrupted = work.options.isInterrupted
        // The server has made the store: if that was moved away, no other is made in its place.
        let store = try VersionStore.open(invocation.storePath(), options: options)
        let pull = work.pull(into: store)
        let outcome = try pull.outcome(of: pull.inquire(work.origin), from: work.origin)
        var checked = CheckedRelease(version: nil, reasons: outcome.reply.reasons)
        checked.hasTakenBack = state.withLock { $0.hasTakenBack }
        checked.isOlderCopy = outcome.reply.isOlderCopy
        checked.isMandatory = outcome.isMandatory
        switch outcome.result {
        case .planned(let plan, _):
            checked.version = plan.release.version.description
            return .checked(checked, byteCount: plan.byteCount, isHere: false)
        case .here(let report):
            checked.version = report.version
            return .checked(
                checked, byteCount: report.figures.bytes, isHere: report.isUnchanged)
        case .nothing: return .checked(checked, byteCount: 0, isHere: false)
        }
    }

    private func failure(_ error: CommandError, _ invocation: Invocation) -> PullEnd {
        // Whatever broke when it was stopped, that is why it ended.
        if isInterrupted || error.status == .interrupted { return .stopped }
        // Pages and logs get it, and no secrets; options as they are spelled on the command line of the server.
        let sentence = invocation.diagnostics.shown(error.message)
            .replacing("--cacert FILE", with: "--pull-option --cacert=FILE")
        if error.code == StoreError.Code.bannedVersion.description {
            var refused = CheckedRelease(version: nil, reasons: [sentence])
            refused.hasTakenBack = state.withLock { $0.hasTakenBack }
            refused.isBanned = true
            return .checked(refused, byteCount: 0, isHere: false)
        }
        // A refusal of its command line is recorded nowhere.
        return .failed(sentence, code: error.code, isNoted: error.status != .usage)
    }
}

extension UpdateSettings {
    /// The command line of a pull, as the server's own describes it.
    /// - Throws: `usage`.
    func pull(
        isPlan: Bool, warned: @escaping @Sendable (String) -> Void
    ) throws(CommandError) -> Invocation {
        try server.reading(
            ["--store=\(store)", "pull"] + words
                + [isPlan ? "--dry-run" : "--keep", "--", origin],
            warned: warned)
    }

    /// Does all of a pull that needs no request: an option that it refuses now would fail every update, and be
    /// noticed too late.
    /// - Throws: `usage` and `transport` with its sentence.
    func tryOut() throws(CommandError) {
        do {
            _ = try pull(isPlan: true) { _ in }.pullWork()
        } catch {
            let error = CommandError(reportingStore: error)
            if error.status == .usage { throw .usage("--pull-option: \(error.message)") }
            // What carries requests is not installed. Anything else may be mended before it is needed.
            if error.code == StoreError.Code.transport.description { throw error }
        }
    }
}
