package import CASStore
public import VersionTree

/// An event of ``UpdateManager``.
public enum UpdateEvent: Sendable, Hashable {
    /// The origin is being asked.
    case checking
    /// There is nothing to do, for this reason.
    case upToDate(String)
    /// A release is ignored, for these reasons.
    case refused(version: String, reasons: [String])
    /// A release will be downloaded, at this cost.
    case available(version: String, cost: UpdateCost, isForced: Bool)
    /// The progress of a download; a slow reader gets only the newest events.
    case progress(version: String, UpdateProgress)
    /// A version is complete and waits to be shown.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it, and confirm it with the token.
    case started(BootReport)
    /// A version was confirmed.
    case confirmed(version: String)
    /// A version was replaced by one that is known good.
    case rolledBack(version: String, from: String, reason: String)
    /// Versions were retired, and this much space was freed.
    case tidied(versions: [String], bytes: Int64)
    /// The work in progress was stopped; content that has arrived is kept.
    case cancelled
    /// Something failed; the app continues with its current version.
    case failed(UpdateFailure)
    /// This reader was too slow and missed this many events; the event log has them.
    case missed(count: Int)
}

/// What failed and why.
public struct UpdateFailure: Sendable, Hashable {
    /// What failed: `check`, `download`, `start`.
    public var operation: String
    /// The code of the error.
    public var code: String
    /// The message of the error.
    public var message: String

    package init(_ error: StoreError, during operation: String) {
        self.operation = operation
        code = error.code.description
        message = error.message
    }
}

/// What an ``UpdateManager`` is doing.
public enum UpdateState: Sendable, Hashable {
    /// Nothing.
    case idle
    /// It asks the origin.
    case checking
    /// It fetches a version.
    case downloading(version: String)
}

/// The result of a check.
public struct UpdateCheck: Sendable {
    /// The origin's offer; `nil` if it says that nothing has changed.
    public var release: Release?
    package var decision: UpdateDecision
    /// Whether it must be shown at once.
    public var isForced: Bool
}

/// The result of an update.
public enum UpdateOutcome: Sendable, Hashable {
    /// There was nothing to do, for this reason.
    case upToDate(String)
    /// A release was ignored, for these reasons.
    case refused(version: String, reasons: [String])
    /// A version is complete and waits to be shown.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it.
    case started(BootReport)
}
