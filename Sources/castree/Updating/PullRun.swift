import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

/// How a run of the program that fetches ended.
enum PullEnd: Sendable, Hashable {
    /// With a result; what is offered may be banned here.
    case checked(CheckedRelease, byteCount: Int64, isHere: Bool)
    /// With an error; the app goes on with what it has.
    ///
    /// `code`: the error's, if it has one. `isNoted`: the event log knows.
    case failed(String, code: String?, isNoted: Bool)
    /// It was told to end.
    case stopped
}

struct PullRun {
    /// Whether it fetches nothing.
    let isPlan: Bool
    private let program: ChildProgram

    /// How long it may say nothing: longer than it waits for others that use the store.
    ///
    /// While it fetches, it tells twice a second how far it is.
    static let silence = Duration.seconds(15 * 60)
    /// How long it may take to end.
    static let grace = Duration.seconds(5)

    /// Starts it.
    ///
    /// - Parameters:
    ///   - settings: what is asked, and as which device.
    ///   - store: the path of the store.
    ///   - isPlan: whether to fetch nothing.
    init(
        _ settings: UpdateSettings, store: String, isPlan: Bool
    ) throws(CommandError) {
        self.isPlan = isPlan
        program = try ChildProgram.castree(
            // The server has made the store: where that was moved away, nothing takes its place.
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
    ///
    /// - Parameters:
    ///   - warned: gets the sentences of its warnings.
    ///   - stopped: gets a sentence when it is found stopped (SIGSTOP).
    ///   - withdrawn: gets what waits and was taken back; returns whether it waits no longer.
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
        /// The sentence of the error that it reported.
        var error: String?
        var code: String?
        /// Whether that was its own, and not a loader's.
        var isOwnError = false
        var hasTakenBack = false

        mutating func take(
            _ line: [UInt8], _ warned: (String) -> Void, _ withdrawn: (Withdrawal) -> Bool,
            _ offered: (String) -> Void
        ) {
            // What is no JSON is said by a library or a loader: it is told as it is.
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
                // What it refuses of its command line, it notes nowhere.
                isNoted: isOwnError && status != ExitStatus.usage.rawValue)
        }
    }
}

extension ChildProgram {
    /// Starts this program again.
    ///
    /// - Throws: `noFetchingProgram` if it cannot be run.
    fileprivate static func castree(
        _ words: [String], hasInput: Bool = true
    ) throws(CommandError) -> ChildProgram {
        let path = System.programPath() ?? "castree"
        do throws(SystemError) {
            return try ChildProgram(path, words, hasInput: hasInput)
        } catch {
            throw CommandError(
                code: "noFetchingProgram", message: "\(path) could not be run: \(error.text)")
        }
    }
}

extension UpdateSettings {
    /// Lets the program that fetches read its command line, and ask nobody: what it refuses now, it would refuse every
    /// time, and nobody would hear that in time.
    ///
    /// - Throws: `noFetchingProgram`; `usage` and `transport` with its sentence; `interrupted`, at once, if this program is
    ///   told to end.
    func tryOut(store: String) throws(CommandError) {
        let program = try ChildProgram.castree(
            ["--store=\(store)", "--json", "pull", "--no-create", "--until-input-ends"] + words
                + ["--dry-run", "--", origin], hasInput: false)
        var (sentence, code): (String?, String?)
        let end = program.follow(
            silence: .seconds(30), grace: .zero, isUnwanted: { Interruption.isRequested }
        ) { _ in
        } heard: { line in
            // What is no JSON comes from a loader, and its status is not that of a usage error.
            guard let error = (try? JSONValue.parse(line))?["error"] else { return }
            (sentence, code) = (error["message"]?.asString, error["code"]?.asString)
        }
        if Interruption.isRequested { throw .interrupted }
        if end.wasSilent {
            throw CommandError(
                code: "noFetchingProgram",
                message:
                    "castree pull did not read its command line within 30 seconds")
        }
        guard let sentence else { return }
        if end.status == ExitStatus.usage.rawValue { throw .usage("--pull-option: \(sentence)") }
        // What reaches networks is not installed, or does not start.
        if let code, code == StoreError.Code.transport.description {
            throw CommandError(code: code, message: sentence)
        }
    }
}
