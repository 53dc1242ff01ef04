import CASStore
import Console
import HotPush
import StoreCommands
import StrictJSON

/// How a run of the program that fetches ended.
enum PullEnd: Sendable, Hashable {
    /// With a result.
    case checked(CheckedRelease, isPlan: Bool, byteCount: Int64, isHere: Bool)
    /// With an error; the app goes on with what it has.
    case failed(String)
    /// What is offered was left alone: it is banned here.
    case refused(String)
    /// It was told to end.
    case stopped

    /// - Parameters:
    ///   - last: the last document that it printed.
    ///   - error: the sentence of the error that it reported.
    ///   - status: its exit status; nil if a signal ended it.
    init(_ last: JSONValue?, error: String?, status: Int32?) {
        let known: [Int32] = [ExitStatus.done, .olderCopy, .mandatoryWaits].map(\.rawValue)
        if let status, known.contains(status), let last, let checked = CheckedRelease(last) {
            self = .checked(
                checked, isPlan: last["dryRun"]?.asBool ?? false,
                byteCount: last["bytes"]?.asInt64 ?? 0,
                isHere: last["unchanged"]?.asBool ?? false)
        } else if status == ExitStatus.interrupted.rawValue {
            self = .stopped
        } else if status == ExitStatus.banned.rawValue, let error {
            self = .refused(error)
        } else {
            let how = status.map { "ended with status \($0)" } ?? "was killed"
            self = .failed(error ?? "\(FetchingProgram.name) \(how)")
        }
    }
}

/// One run of the program that fetches.
struct PullRun {
    private let program: ChildProgram

    /// Starts it.
    ///
    /// - Parameters:
    ///   - settings: what is asked, and as which device.
    ///   - store: the path of the store.
    ///   - isPlan: whether to fetch nothing.
    init(
        _ settings: UpdateSettings, store: String, isPlan: Bool
    ) throws(CommandError) {
        program = try FetchingProgram.start(
            // The server has made the store: where that was moved away, nothing takes its place.
            [
                "--store=\(store)", "--json", "pull", "--no-create", "--json-lines",
                "--until-input-ends",
            ]
                + settings.words + [isPlan ? "--dry-run" : "--keep", "--", settings.origin])
    }

    /// Asks it to end; what has come is kept.
    func end() { program.end() }

    /// Ends it at once.
    func kill() { program.kill() }

    /// Reads what it prints until it ends.
    ///
    /// - Parameter warned: gets the sentences of its warnings.
    func finish(warned: (String) -> Void) -> PullEnd {
        var last: JSONValue?
        var error: String?
        while let line = program.readLine() {
            // What is no JSON is said by a library or a loader: it is told as it is.
            guard let document = try? JSONValue.parse(line) else {
                error = String(decoding: line, as: UTF8.self)
                continue
            }
            if let sentence = document["warning"]?["message"]?.asString {
                warned(sentence)
            } else if let sentence = document["error"]?["message"]?.asString {
                error = sentence
            } else {
                last = document
            }
        }
        return PullEnd(last, error: error, status: program.wait())
    }
}
