internal import CASStore
internal import StrictJSON

extension JournalEvent {
    /// What happened, as a sentence for people, with exact sizes.
    package var sentence: String {
        switch self {
        case .checked(let origin, _, _, let reason, let failure?) where failure.isOfStore:
            "the store failed when \(origin) was asked" + Self.because(reason)
        case .checked(let origin, let outcome, let version, let reason, _):
            "asked \(origin): " + Self.answer(outcome, version) + Self.because(reason)
        case .answering(let origin, let failures, let seconds):
            "\(origin) answers again after \(counted(failures, "failure"))"
                + (seconds.map { " in \(Self.span($0))" } ?? "")
        case .verified(let origin, let channel, let sequence, let keys):
            "verified \(sequence) of channel \(channel) at \(origin): signed by key "
                + keys.joined(separator: ", ")
        case .trusting(let origin, let keys, let threshold):
            keys.isEmpty
                ? "takes from \(origin) what comes"
                : "takes from \(origin) what \(threshold) of these keys have signed: "
                    + keys.joined(separator: ", ")
        case .rotated(let origin, let version, let keys):
            "trusts version \(version) of the keys of \(origin) now: "
                + keys.joined(separator: ", ")
        case .planned(let version, let cost):
            "version \(version) would take \(counted(cost.files, "file")), "
                + "\(counted(cost.bytes, "byte")); \(counted(cost.reusedFiles, "file")), "
                + "\(counted(cost.reusedBytes, "byte")) are here"
        case .downloadBegan(let version): "began to download version \(version)"
        case .downloadEnded(let version, let outcome, let figures, let reason, let failure):
            (failure?.isOfStore == true
                ? "the store failed while version \(version) was downloaded: "
                : "download of version \(version) \(outcome.rawValue): ")
                + "\(counted(figures.files, "file")), "
                + "\(counted(figures.bytes, "byte")) in \(figures.milliseconds) ms, "
                + "\(counted(figures.requests, "request")), "
                + "\(counted(figures.reusedBytes, "byte")) reused, "
                + "\(figures.resumedBytes) resumed" + Self.because(reason)
        case .added(let version, let files, let bytes, let newObjects, let newBytes):
            "added version \(version): \(counted(files, "file")), "
                + "\(counted(bytes, "byte")); \(counted(newObjects, "new object")), "
                + "\(counted(newBytes, "byte"))"
        case .switched(let version, let from):
            "switched to version \(version)" + (from.map { " from \($0)" } ?? "")
        case .retried(let reason, let milliseconds):
            "\(reason); tried again after \(milliseconds) ms"
        case .fellBack(_, let reason, let objects):
            "\(reason); \(counted(objects, "object")) "
                + (objects == 1 ? "comes another way" : "come another way")
        case .pending(let version): "version \(version) waits for the next start"
        case .withdrawn(let version): "version \(version) no longer waits"
        case .booted(let version): "started version \(version)"
        case .confirmed(let version): "version \(version) was confirmed"
        case .rolledBack(let version, let from, let reason):
            "went back from version \(from) to \(version): \(reason)"
        case .banned(let version, _, let reason, let count):
            "banned version \(version) (\(count)): \(reason)"
        case .forgiven(let version): "lifted the ban of version \(version)"
        case .retired(let version, let references):
            "retired version \(version), which used \(counted(references, "object"))"
        case .collected(let objects, let bytes):
            "deleted \(counted(objects, "object")), \(counted(bytes, "byte"))"
        case .found(let kinds, let repaired):
            "a check found "
                + kinds.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
                .joined(separator: ", ") + "; repaired \(repaired)"
        case .embedded(let version, let previous, let becameCurrent):
            "the app was shipped with version \(version)"
                + (previous.map { " instead of \($0)" } ?? "")
                + (becameCurrent ? ", which is current now" : "")
        case .failed(let deed, let failure, let message):
            (failure.isOfStore ? "the store failed in \(deed)" : "\(deed) failed")
                + ": \(message) [\(failure.code)]"
        case .stalePage(let version, let shown):
            "a service worker showed \(shown.map { "version \($0)" } ?? "an older page") "
                + "in place of version \(version)"
        case .lost(let count): "\(counted(count, "event")) could not be written"
        case .other(let name, let members):
            "\(name) "
                + String(
                    decoding: JSONWriter.serialize(.object(members), sortedKeys: true),
                    as: UTF8.self)
        }
    }

    private static func answer(_ outcome: CheckOutcome, _ version: String?) -> String {
        let release = version.map { "version \($0)" } ?? "a release"
        return switch outcome {
        case .nothingNew: "nothing new"
        case .available: "\(release) is available"
        case .refused: "\(release) is not taken"
        case .offline: "no answer"
        case .failed: "no answer of use"
        }
    }

    private static func span(_ seconds: Int64) -> String {
        switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    private static func because(_ reason: String?) -> String { reason.map { ": \($0)" } ?? "" }
}
