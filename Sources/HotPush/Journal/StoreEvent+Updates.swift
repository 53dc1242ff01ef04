internal import CASStore
internal import StrictJSON
package import VersionTree

/// The result of asking an origin.
package enum CheckOutcome: String, Sendable, Hashable, CaseIterable {
    /// There is nothing that this store lacks.
    case nothingNew
    /// There is a release to download, or to switch to.
    case available
    /// There is a release, but it is not for this app or not wanted.
    case refused
    /// The origin could not be reached.
    case offline
    /// The origin could not be asked, its answer is of no use, or the store failed meanwhile.
    case failed

    /// What an error says of an origin: being offline mends itself, as a rule.
    init(_ error: StoreError) {
        switch error.transferKind {
        case .resolve, .connect, .timeout, .broken: self = .offline
        default: self = .failed
        }
    }

    /// Whether it had no answer, or none of use.
    package var isFailure: Bool { self == .offline || self == .failed }
}

/// How a download ended.
package enum DownloadOutcome: String, Sendable, Hashable, CaseIterable {
    /// The version is complete.
    case finished
    /// It stopped for a reason; what came is kept.
    case failed
    /// Somebody stopped it; what came is kept.
    case cancelled
}

// What becomes of updates.
extension StoreEvent {
    /// An origin was asked for news.
    package static func checked(
        origin: String, outcome: CheckOutcome, version: String?, reason: String?,
        failure: JournalFailure? = nil
    ) -> StoreEvent {
        StoreEvent(
            "check",
            [
                "origin": .text(origin), "outcome": .text(outcome.rawValue),
                "version": .text(version), "reason": .text(reason), "code": .text(failure?.code),
                "ofStore": failure?.isOfStore == true ? .bool(true) : nil,
            ])
    }

    /// An origin answers again, after so many questions in a row that brought nothing; for how long, in seconds, unless
    /// the clock was set meanwhile.
    static func answering(origin: String, failures: Int, seconds: Int64?) -> StoreEvent {
        StoreEvent(
            "answers",
            [
                "origin": .text(origin), "failures": .integer(Int64(failures)),
                "seconds": .number(seconds),
            ])
    }

    /// A channel's pointer was verified for the first time: these keys have signed it.
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

    /// A person has said whose releases are taken from an origin: with no key, whatever comes.
    package static func trusting(origin: String, keys: [String], threshold: Int) -> StoreEvent {
        StoreEvent(
            "trust",
            [
                "origin": .text(origin), "keys": .array(keys.map { .string($0) }),
                "threshold": .integer(Int64(threshold)),
            ])
    }

    /// Other keys are trusted from now on, because those before said so.
    static func rotated(origin: String, version: Int64, keys: [String]) -> StoreEvent {
        StoreEvent(
            "rotate",
            [
                "origin": .text(origin), "trustVersion": .integer(version),
                "keys": .array(keys.map { .string($0) }),
            ])
    }

    /// What a download would cost was computed.
    static func planned(version: String, cost: UpdateCost) -> StoreEvent {
        StoreEvent(
            "plan",
            [
                "version": .text(version), "files": .integer(Int64(cost.files)),
                "bytes": .integer(cost.bytes), "reusedFiles": .integer(Int64(cost.reusedFiles)),
                "reusedBytes": .integer(cost.reusedBytes),
            ])
    }

    /// A download began.
    static func downloadBegan(version: String) -> StoreEvent {
        StoreEvent("downloadBegan", ["version": .text(version)])
    }

    /// A download ended, successfully or not; the figures say how far it came.
    static func downloadEnded(
        version: String, outcome: DownloadOutcome, figures: DownloadFigures, reason: String?,
        failure: JournalFailure? = nil
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
                "milliseconds": .integer(figures.milliseconds),
            ])
    }

    /// The end of a download: how far it came, and what stopped it early.
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
            reason: failure?.message, failure: failure.map { JournalFailure($0) })
    }

    /// A request failed and is repeated after a rest.
    static func retried(reason: String, milliseconds: Int64) -> StoreEvent {
        StoreEvent("retry", ["reason": .text(reason), "milliseconds": .integer(milliseconds)])
    }

    /// A pack, or a delivery, was of no use: what it was to bring came otherwise.
    static func fellBack(pack: ObjectID?, reason: String, objects: Int) -> StoreEvent {
        StoreEvent(
            "fallback",
            [
                "pack": .text(pack), "reason": .text(reason), "objects": .integer(Int64(objects)),
            ])
    }

    /// Something failed.
    package static func failed(
        deed: String, failure: JournalFailure, message: String
    ) -> StoreEvent {
        .failed(deed: deed, code: failure.code, isOfStore: failure.isOfStore, message: message)
    }

    /// Events could not be written, because the disk was full or failing.
    static func lost(count: Int) -> StoreEvent {
        StoreEvent("lost", ["count": .integer(Int64(count))])
    }
}

extension StoreEvent {
    /// What an origin answered, if it was asked.
    package var answer: CheckOutcome? {
        name == "check" ? text("outcome").flatMap(CheckOutcome.init) : nil
    }

    /// How a download ended, if one did.
    package var downloadOutcome: DownloadOutcome? {
        name == "downloadEnded" ? text("outcome").flatMap(DownloadOutcome.init) : nil
    }

    /// The version whose download began or ended.
    package var downloadedVersion: String? {
        ["downloadBegan", "downloadEnded"].contains(name) ? text("version") : nil
    }

    /// Who failed; lines of older castrees do not say it.
    package var failure: JournalFailure? {
        text("code").map { JournalFailure(code: $0, isOfStore: self["ofStore"]?.asBool == true) }
    }
}
