internal import CASStore
internal import StrictJSON
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
                "milliseconds": .integer(figures.milliseconds),
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
}

extension StoreEvent {
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
}
