/// The number that a program ends with.
///
/// The numbers are part of the command line's contract: scripts compare them.
public struct ExitStatus: RawRepresentable, Hashable, Sendable {
    /// The number that the parent process sees.
    public let rawValue: Int32

    /// Makes an exit status from its number.
    public init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The command did what it was asked to do.
    public static let done = ExitStatus(rawValue: 0)
    /// The operation failed; the message says why.
    public static let failed = ExitStatus(rawValue: 1)
    /// The command line was wrong.
    public static let usage = ExitStatus(rawValue: 2)
    /// There is no such thing: no such version, object or store.
    public static let notFound = ExitStatus(rawValue: 3)
    /// What came is an older copy of what was seen before: a cache or mirror is behind.
    public static let olderCopy = ExitStatus(rawValue: 21)
    /// Another process has had the store for longer than was to be waited.
    public static let busy = ExitStatus(rawValue: 24)
    /// SIGINT or SIGTERM ended the work.
    public static let interrupted = ExitStatus(rawValue: 130)
}

/// The exit statuses of checks, after fsck(8).
extension ExitStatus {
    /// A check found nothing wrong.
    public static let clean = ExitStatus(rawValue: 0)
    /// A check found problems and repaired every one.
    public static let repaired = ExitStatus(rawValue: 1)
    /// A check left problems.
    public static let problemsLeft = ExitStatus(rawValue: 4)
    /// A check could not be made.
    public static let unchecked = ExitStatus(rawValue: 8)
    /// The command line of a check was wrong.
    public static let checkUsage = ExitStatus(rawValue: 16)
}

/// Which exit status a program or a command gives to each kind of error.
public struct ExitStatuses: Hashable, Sendable {
    /// The status of an error of each kind; success has none, because `run` returns it.
    public let failed, usage, notFound, interrupted, busy: ExitStatus

    /// Makes a mapping from the kinds of errors to exit statuses.
    public init(
        failed: ExitStatus, usage: ExitStatus, notFound: ExitStatus,
        interrupted: ExitStatus = .interrupted, busy: ExitStatus = .busy
    ) {
        self.failed = failed
        self.usage = usage
        self.notFound = notFound
        self.interrupted = interrupted
        self.busy = busy
    }

    /// 1 failed, 2 usage, 3 nothing there, 24 busy, 130 interrupted.
    public static let standard = ExitStatuses(failed: .failed, usage: .usage, notFound: .notFound)

    /// 8 could not check, 16 usage, 130 interrupted: a store that is not there, or that another process
    /// keeps, cannot be checked.
    public static let check = ExitStatuses(
        failed: .unchecked, usage: .checkUsage, notFound: .unchecked, busy: .unchecked)

    /// Returns the exit status of an error of the kind given.
    public func status(for kind: ErrorKind) -> ExitStatus {
        switch kind {
        case .failed: failed
        case .usage: usage
        case .notFound: notFound
        case .interrupted: interrupted
        case .busy: busy
        }
    }
}

/// What help says about exit statuses.
extension ExitStatus {
    /// Of commands that are not checks.
    package static let standardHelp = failures + endings

    private static let failures: [(status: ExitStatus, meaning: String)] = [
        (.done, "done"),
        (.failed, "the operation failed; the message says why"),
        (.usage, "the command line was wrong"),
        (.notFound, "there is no such version, object or store"),
    ]
    private static let endings: [(status: ExitStatus, meaning: String)] = [
        (.busy, "another process has had the store for longer than --wait"),
        (.interrupted, "interrupted"),
    ]

    /// Of pulls.
    package static let pullHelp =
        failures + [(.olderCopy, "the origin is an older copy of what was seen before")] + endings

    /// Of checks, after fsck(8).
    package static let checkHelp: [(status: ExitStatus, meaning: String)] = [
        (.clean, "nothing is wrong"),
        (.repaired, "problems were found, and all were repaired"),
        (.problemsLeft, "problems are left"),
        (.unchecked, "the check could not be made"),
        (.checkUsage, "the command line was wrong"),
        (.interrupted, "interrupted"),
    ]
}
