import CASStore
import StrictJSON
package import VersionTree

/// The result of asking an origin.
package enum CheckOutcome: String, Sendable, Hashable, CaseIterable {
    case nothingNew
    /// There is a release to download, or to switch to.
    case available
    /// There is a release, but it is not for this app or not wanted.
    case refused
    case offline
    /// The origin could not be asked, its answer is useless, or the store failed meanwhile.
    case failed

    /// A network error counts as offline, which usually resolves in time.
    init(_ error: StoreError) {
        switch error.transferKind {
        case .resolve, .connect, .timeout, .broken: self = .offline
        default: self = .failed
        }
    }

    package var isFailure: Bool { self == .offline || self == .failed }
}

package enum DownloadOutcome: String, Sendable, Hashable, CaseIterable {
    case finished
    /// Content that has arrived is kept, as for `cancelled`.
    case failed
    case cancelled
}

// What becomes of updates.
extension StoreEvent {
    /// - Parameters:
    ///   - channel: the one that was asked, unless it is the usual one.
    ///   - release: the one that was asked for, if not the newest.
    package static func checked(
        origin: String, channel: String? = nil, release: String? = nil, outcome: CheckOutcome,
        version: String?, reason: String?, failure: EventLogFailure? = nil
    ) -> StoreEvent {
        StoreEvent(
            "check",
            [
                "origin": .text(origin), "outcome": .text(outcome.rawValue),
                "channel": .text(channel), "release": .text(release),
                "version": .text(version), "reason": .text(reason), "code": .text(failure?.code),
                "ofStore": failure?.isOfStore == true ? .bool(true) : nil,
            ])
    }

    /// - Parameter seconds: how long the origin did not answer; `nil` if the clock was set meanwhile.
    static func answering(origin: String, failures: Int, seconds: Int64?) -> StoreEvent {
        StoreEvent(
            "answers",
            [
                "origin": .text(origin), "failures": .integer(Int64(failures)),
                "seconds": .number(seconds),
            ])
    }

    /// A channel's pointer was verified for the first time.
    static func verified(
        origin: String, channel: String, sequence: Int64, keys: [String]
    ) -> StoreEvent {
        StoreEvent(
            "verify",
            [
                "origin": .text(origin), "channel": .text(channel),
                "pointer": .integer(sequence), "keys": .array(keys.map { .string($0) }),
            ])
    }

    /// Without a key, the user accepts unsigned releases.
    package static func trusting(origin: String, keys: [String], threshold: Int) -> StoreEvent {
        StoreEvent(
            "trust",
            [
                "origin": .text(origin), "keys": .array(keys.map { .string($0) }),
                "threshold": .integer(Int64(threshold)),
            ])
    }

    /// The previous keys have named other ones.
    static func rotated(origin: String, version: Int64, keys: [String]) -> StoreEvent {
        StoreEvent(
            "rotate",
            [
                "origin": .text(origin), "trustVersion": .integer(version),
                "keys": .array(keys.map { .string($0) }),
            ])
    }

    static func planned(version: String, cost: UpdateCost) -> StoreEvent {
        StoreEvent(
            "plan",
            [
                "version": .text(version), "files": .integer(Int64(cost.files)),
                "bytes": .integer(cost.bytes), "reusedFiles": .integer(Int64(cost.reusedFiles)),
                "reusedBytes": .integer(cost.reusedBytes),
            ])
    }

    static func downloadBegan(version: String) -> StoreEvent {
        StoreEvent("downloadBegan", ["version": .text(version)])
    }

    static func downloadEnded(
        version: String, outcome: DownloadOutcome, figures: DownloadFigures, reason: String?,
        failure: EventLogFailure? = nil
    ) -> StoreEvent {
        StoreEvent(
            "downloadEnded",
            [
                "version": .text(version), "outcome": .text(outcome.rawValue),
                "reason": .text(reason), "code": .text(failure?.code),
                "ofStore": failure?.isOfStore == true ? .bool(true) : nil,
                "files": .integer(Int64(figures.files)), "bytes": .integer(figures.bytes),
                "reusedBytes": .integer(figures.reusedBytes),
                "resumedBytes": .integer(figures.resumedBytes),
                "requests": .integer(Int64(figures.requests)),
                "milliseconds": .integer(figures.duration.milliseconds),
            ])
    }

    static func ended(
        _ version: VersionName, _ figures: DownloadFigures, _ failure: StoreError?
    ) -> StoreEvent {
        let outcome: DownloadOutcome =
            switch failure?.code {
            case nil: .finished
            case .interrupted?: .cancelled
            default: .failed
            }
        return .downloadEnded(
            version: version.description, outcome: outcome, figures: figures,
            reason: failure?.message, failure: failure.map { EventLogFailure($0) })
    }

    static func retried(reason: String, milliseconds: Int64) -> StoreEvent {
        StoreEvent("retry", ["reason": .text(reason), "milliseconds": .integer(milliseconds)])
    }

    /// A pack or delivery was useless, and its content came otherwise.
    static func fellBack(pack: ObjectID?, reason: String, objects: Int) -> StoreEvent {
        StoreEvent(
            "fallback",
            [
                "pack": .text(pack), "reason": .text(reason), "objects": .integer(Int64(objects)),
            ])
    }

    package static func failed(
        operation: String, failure: EventLogFailure, message: String
    ) -> StoreEvent {
        .failed(
            operation: operation, code: failure.code, isOfStore: failure.isOfStore, message: message
        )
    }

    /// Events could not be written, because the disk was full or failing.
    static func lost(count: Int) -> StoreEvent {
        StoreEvent("lost", ["count": .integer(Int64(count))])
    }

    package var answer: CheckOutcome? {
        name == "check" ? text("outcome").flatMap(CheckOutcome.init) : nil
    }

    package var downloadOutcome: DownloadOutcome? {
        name == "downloadEnded" ? text("outcome").flatMap(DownloadOutcome.init) : nil
    }

    package var downloadedVersion: String? {
        ["downloadBegan", "downloadEnded"].contains(name) ? text("version") : nil
    }

    /// Lines of older castrees do not have it.
    package var failure: EventLogFailure? {
        text("code").map { EventLogFailure(code: $0, isOfStore: self["ofStore"]?.asBool == true) }
    }

    /// What happened, as a sentence for people, with exact sizes; for an unknown or incomplete event, its fields.
    package var sentence: String {
        do throws(Missing) {
            return try words()
        } catch {
            let fields = JSONWriter.serialize(.object(members), sortedKeys: true)
            return "\(name) " + String(decoding: fields, as: UTF8.self)
        }
    }

    private struct Missing: Error {}

    private func need<Value>(_ value: Value?) throws(Missing) -> Value {
        guard let value else { throw Missing() }
        return value
    }

    private func said(_ key: String) throws(Missing) -> String { try need(text(key)) }

    /// Such as "3 files".
    private func count(_ key: String, _ noun: String) throws(Missing) -> String {
        counted(try need(number(key)), noun)
    }

    private func keys() throws(Missing) -> String {
        try need(self["keys"]?.asArray).compactMap(\.asString).joined(separator: ", ")
    }

    private var because: String { text("reason").map { ": \($0)" } ?? "" }
    private var isOfStore: Bool { failure?.isOfStore == true }

    private func words() throws(Missing) -> String {
        switch name {
        case "check":
            let outcome = try need(answer)
            let origin =
                try said("origin") + (text("channel").map { ", channel \($0)" } ?? "")
                + (text("release").map { ", for version \($0)" } ?? "")
            return isOfStore
                ? "the store failed when \(origin) was asked" + because
                : "asked \(origin): " + words(of: outcome) + because
        case "answers":
            return try "\(said("origin")) answers again after \(count("failures", "failure"))"
                + (number("seconds").map { " in \(Self.span($0))" } ?? "")
        case "verify":
            let sequence = try need(number("pointer"))
            return try
                "verified \(sequence) of channel \(said("channel")) at \(said("origin")): signed by key "
                + keys()
        case "trust":
            let (keys, threshold) = (try keys(), try need(number("threshold")))
            let origin = try said("origin")
            return keys.isEmpty
                ? "accepts unsigned releases of \(origin)"
                : "releases of \(origin) must be signed by \(threshold) of these keys: " + keys
        case "rotate":
            let version = try need(number("trustVersion"))
            return try "now trusts version \(version) of the keys of \(said("origin")): " + keys()
        case "plan":
            return try "version \(said("version")) would take \(count("files", "file")), "
                + "\(count("bytes", "byte")); \(count("reusedFiles", "file")), "
                + "\(count("reusedBytes", "byte")) are here"
        case "downloadEnded":
            let (version, outcome) = (try said("version"), try need(downloadOutcome))
            let (time, resumed) = (
                try need(number("milliseconds")), try need(number("resumedBytes"))
            )
            return try
                (isOfStore
                ? "the store failed while version \(version) was downloaded: "
                : "download of version \(version) \(outcome.rawValue): ")
                + "\(count("files", "file")), \(count("bytes", "byte")) in \(time) ms, "
                + "\(count("requests", "request")), \(count("reusedBytes", "byte")) reused, "
                + "\(resumed) resumed" + because
        case "retry":
            return try "\(said("reason")); tried again after \(need(number("milliseconds"))) ms"
        case "fallback":
            let verb = number("objects") == 1 ? "comes" : "come"
            return try "\(said("reason")); \(count("objects", "object")) \(verb) another way"
        case "failed":
            let (operation, code) = (try said("deed"), try said("code"))
            return (isOfStore ? "the store failed in \(operation)" : "\(operation) failed")
                + ": \(try said("message")) [\(code)]"
        case "found":
            let kinds = try need(self["kinds"]?.asObject).map { (kind) throws(Missing) in
                "\(try need(kind.value.asInt64)) \(kind.key)"
            }
            return "a check found " + kinds.joined(separator: ", ")
                + "; repaired \(try need(number("repaired")))"
        case "collect":
            return try "deleted \(count("objects", "object")), \(count("bytes", "byte"))"
        case "lost": return try "\(count("count", "event")) could not be written"
        default: return try words(of: said("version"))
        }
    }

    private func words(of version: String) throws(Missing) -> String {
        switch name {
        case "add":
            return try "added version \(version): \(count("files", "file")), "
                + "\(count("bytes", "byte")); \(count("newObjects", "new object")), "
                + "\(count("newBytes", "byte"))"
        case "downloadBegan": return "began to download version \(version)"
        case "switch":
            return "switched to version \(version)" + (text("from").map { " from \($0)" } ?? "")
        case "pending": return "version \(version) is pending until the next start"
        case "withdraw": return "version \(version) is no longer pending"
        case "boot": return "started version \(version)"
        case "confirm": return "version \(version) was confirmed"
        case "rollback":
            return try "rolled back from version \(said("from")) to \(version): \(said("reason"))"
        case "ban":
            let count = try need(number("count"))
            return "banned version \(version) (\(count)): \(try said("reason"))"
        case "forgive": return "lifted the ban of version \(version)"
        case "retire":
            return "retired version \(version), which used \(try count("references", "object"))"
        case "embedded":
            return "the app was shipped with version \(version)"
                + (text("previous").map { " instead of \($0)" } ?? "")
                + (try need(self["becameCurrent"]?.asBool) ? ", which is current now" : "")
        case "stalePage":
            return
                "a service worker showed \(text("from").map { "version \($0)" } ?? "an older page") "
                + "in place of version \(version)"
        default: throw Missing()
        }
    }

    private func words(of outcome: CheckOutcome) -> String {
        let release = text("version").map { "version \($0)" } ?? "a release"
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
}
