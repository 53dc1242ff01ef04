package import CASStore
public import VersionTree

/// An event of ``UpdateManager``.
public enum UpdateEvent: Sendable, Hashable {
    /// The origin is being asked.
    case checking
    /// There is nothing to do, and why.
    case upToDate(String)
    /// A release is left alone, for these reasons.
    case refused(version: String, reasons: [String])
    /// A release will be downloaded, at this cost.
    case available(version: String, cost: UpdateCost, isForced: Bool)
    /// How far its download is; of untaken ones, only the newest few are kept.
    case progress(version: String, UpdateProgress)
    /// A version is complete and waits for its turn.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it, and confirm it with the token.
    case started(BootReport)
    /// A version was vouched for.
    case confirmed(version: String)
    /// A version was left for one that is known good.
    case rolledBack(version: String, from: String, reason: String)
    /// Versions were retired, and this much space was freed.
    case tidied(versions: [String], bytes: Int64)
    /// The work under way was stopped; what has come is kept.
    case cancelled
    /// Something failed; the app goes on with what it has.
    case failed(UpdateFailure)
    /// This reader was so slow that it missed this many events; the event log has them.
    case missed(count: Int)
}

/// What failed and why.
public struct UpdateFailure: Sendable, Hashable {
    /// What failed: `check`, `download`, `start`.
    public var deed: String
    /// The code of the error.
    public var code: String
    /// The message of the error.
    public var message: String

    /// Makes a failure from an error.
    package init(_ error: StoreError, during deed: String) {
        self.deed = deed
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
    /// What the origin offers; `nil` if it says that nothing has changed.
    public var release: Release?
    /// What to do about it.
    package var decision: UpdateDecision
    /// Whether it must be shown at once.
    public var isForced: Bool
}

/// The result of an update.
public enum UpdateOutcome: Sendable, Hashable {
    /// There was nothing to do, and why.
    case upToDate(String)
    /// A release was left alone, for these reasons.
    case refused(version: String, reasons: [String])
    /// A version is complete and waits for its turn.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it.
    case started(BootReport)
}
