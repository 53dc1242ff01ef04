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
    /// What was asked for is not there.
    public static let notFound = ExitStatus(rawValue: 3)
    /// Somebody else has been at work for longer than was to be waited.
    public static let busy = ExitStatus(rawValue: 24)
    /// SIGINT or SIGTERM ended the work.
    public static let interrupted = ExitStatus(rawValue: 130)
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
