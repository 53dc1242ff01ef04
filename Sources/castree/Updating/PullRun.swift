import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

/// How a run of the program that fetches ended.
enum PullEnd: Sendable, Hashable {
    /// With a result; the offered release may be banned here.
    case checked(CheckedRelease, byteCount: Int64, isHere: Bool)
    /// With an error; the app continues with what it has.
    ///
    /// `code`: the error's, if it has one. `isNoted`: the event log has it.
    case failed(String, code: String?, isNoted: Bool)
    case stopped
}

struct PullRun {
    let isPlan: Bool
    private let program: ChildProgram

    /// How long it may be silent, including waits for the store; while it fetches, it reports twice a second.
    static let silence = Duration.seconds(15 * 60)
    static let grace = Duration.seconds(5)

    /// - Parameters:
    ///   - settings: the origin to ask, and as which device.
    ///   - store: the path of the store.
    ///   - isPlan: whether to fetch nothing.
    init(
        _ settings: UpdateSettings, store: String, isPlan: Bool
    ) throws(CommandError) {
        self.isPlan = isPlan
        program = try ChildProgram.castree(
            // The server has made the store: if that was moved away, the child must not create another.
            [
                "--store=\(store)", "--json", "pull", "--no-create", "--json-lines",
                "--until-input-ends",
            ]
                + settings.words + [isPlan ? "--dry-run" : "--keep", "--", settings.origin])
    }

    /// Asks it to end; what has come is kept.
    func end() { program.end() }

    func kill() { program.kill() }

    /// Reads what it prints until it ends.
    /// - Parameters:
    ///   - warned: gets the sentences of its warnings.
    ///   - stopped: gets a sentence when it is found stopped (SIGSTOP).
    ///   - withdrawn: gets a pending version that was withdrawn; returns whether it is no longer pending.
    ///   - offered: gets the version that it is about to fetch.
    func finish(
        warned: (String) -> Void, stopped: (String) -> Void, withdrawn: (Withdrawal) -> Bool,
        offered: (String) -> Void
    ) -> PullEnd {
        var heard = Heard()
        let end = program.follow(silence: Self.silence, grace: Self.grace) { process in
            stopped(
                "castree pull (process \(process)) is stopped, so nothing is updated; resume it with kill -CONT \(process)"
            )
        } heard: { line in
            heard.take(line, warned, withdrawn, offered)
        }
        if end.wasSilent {
            let minutes = Self.silence.components.seconds / 60
            return .failed(
                "castree pull printed nothing for \(minutes) minutes and was ended",
                code: nil, isNoted: false)
        }
        return heard.result(end.status)
    }

    private struct Heard {
        var last: JSONValue?
        var error: String?
        var code: String?
        var isOwnError = false
        var hasTakenBack = false

        mutating func take(
            _ line: [UInt8], _ warned: (String) -> Void, _ withdrawn: (Withdrawal) -> Bool,
            _ offered: (String) -> Void
        ) {
            // A line that is not JSON comes from a library or a loader: it is reported as it is.
            guard let document = try? JSONValue.parse(line) else {
                (error, isOwnError) = (String(decoding: line, as: UTF8.self), false)
                code = nil
                return
            }
            if let sentence = document["warning"]?["message"]?.asString {
                warned(sentence)
            } else if let sentence = document["error"]?["message"]?.asString {
                // As it is spelled on the command line of the server.
                error = sentence.replacing("--cacert FILE", with: "--pull-option --cacert=FILE")
                isOwnError = true
                code = document["error"]?["code"]?.asString
            } else if let version = document["offer"]?["version"]?.asString {
                offered(version)
            } else if let withdrawal = document["withdrawn"].flatMap(Withdrawal.init) {
                if withdrawn(withdrawal) { hasTakenBack = true }
            } else {
                last = document
            }
        }

        /// - Parameter status: its exit status; nil if a signal ended it.
        func result(_ status: Int32?) -> PullEnd {
            let known: [Int32] = [ExitStatus.done, .olderCopy, .mandatoryWaits].map(\.rawValue)
            if let status, known.contains(status), let last, var checked = CheckedRelease(last) {
                checked.hasTakenBack = hasTakenBack
                checked.isOlderCopy = status == ExitStatus.olderCopy.rawValue
                return .checked(
                    checked, byteCount: last["bytes"]?.asInt64 ?? 0,
                    isHere: last["unchanged"]?.asBool ?? false)
            }
            if status == ExitStatus.interrupted.rawValue { return .stopped }
            if status == ExitStatus.banned.rawValue, let error {
                var refused = CheckedRelease(version: nil, reasons: [error])
                refused.hasTakenBack = hasTakenBack
                refused.isBanned = true
                return .checked(refused, byteCount: 0, isHere: false)
            }
            let how = status.map { "ended with status \($0)" } ?? "was killed"
            return .failed(
                error ?? "castree pull \(how)", code: code,
                // A refusal of its command line is recorded nowhere.
                isNoted: isOwnError && status != ExitStatus.usage.rawValue)
        }
    }
}

extension ChildProgram {
    /// Starts this program again.
    /// - Throws: `noFetchingProgram` if it cannot be run.
    fileprivate static func castree(
        _ words: [String], hasInput: Bool = true
    ) throws(CommandError) -> ChildProgram {
        let path = System.programPath() ?? "castree"
        do throws(SystemError) {
            return try ChildProgram(path, words, hasInput: hasInput)
        } catch {
            // The path comes last, because the event log leaves it out.
            throw CommandError(
                code: JournalFailure.noFetchingProgram,
                message: "castree could not be run from \(path): \(error.text)")
        }
    }
}

extension UpdateSettings {
    /// Has the program that fetches read its command line, without any request: an option that it refuses now would
    /// fail every update, and be noticed too late.
    /// - Throws: `noFetchingProgram`; `usage` and `transport` with its sentence; `interrupted`, at once, if this
    ///   program is told to end.
    func tryOut(store: String) throws(CommandError) {
        let program = try ChildProgram.castree(
            ["--store=\(store)", "--json", "pull", "--no-create", "--until-input-ends"] + words
                + ["--dry-run", "--", origin], hasInput: false)
        var (sentence, code): (String?, String?)
        let end = program.follow(
            silence: .seconds(30), grace: .zero, isUnwanted: { Interruption.isRequested }
        ) { _ in
        } heard: { line in
            // A line that is not JSON comes from a loader, whose status is not that of a usage error.
            guard let error = (try? JSONValue.parse(line))?["error"] else { return }
            (sentence, code) = (error["message"]?.asString, error["code"]?.asString)
        }
        if Interruption.isRequested { throw .interrupted }
        if end.wasSilent {
            throw CommandError(
                code: JournalFailure.noFetchingProgram,
                message:
                    "castree pull did not read its command line within 30 seconds")
        }
        guard let sentence else { return }
        if end.status == ExitStatus.usage.rawValue { throw .usage("--pull-option: \(sentence)") }
        // The program that uses networks is not installed, or does not start.
        if let code, code == StoreError.Code.transport.description {
            throw CommandError(code: code, message: sentence)
        }
    }
}
