/// The number that a program ends with; of an error, what kind it is.
///
/// The numbers are part of the command line's contract: scripts compare them.
package struct ExitStatus: RawRepresentable, Hashable, Sendable {
    /// The number that the parent process sees.
    package let rawValue: Int32

    /// Makes an exit status from its number.
    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    /// The command did what it was asked to do.
    package static let done = ExitStatus(rawValue: 0)
    /// The operation failed; the message says why.
    package static let failed = ExitStatus(rawValue: 1)
    /// The command line was wrong.
    package static let usage = ExitStatus(rawValue: 2)
    /// What was asked for is not there.
    package static let notFound = ExitStatus(rawValue: 3)
    /// What is offered is banned on this device.
    package static let banned = ExitStatus(rawValue: 20)
    /// What came is not what was promised, or the peer is not who it says.
    package static let untrusted = ExitStatus(rawValue: 22)
    /// The other side of the network cannot be reached.
    package static let offline = ExitStatus(rawValue: 23)
    /// Another process was at work for longer than the command may wait.
    package static let busy = ExitStatus(rawValue: 24)
    /// SIGINT or SIGTERM ended the work.
    package static let interrupted = ExitStatus(rawValue: 130)
}

/// The exit statuses of a program or a command: those of its errors, and what help says about all.
package struct ExitStatuses: Sendable {
    /// What help says: number and meaning.
    package let help: [(status: ExitStatus, meaning: String)]
    private let particular: [ExitStatus: ExitStatus]

    /// Makes exit statuses: 1 failed, 2 usage, 3 nothing there, 20 banned, 22 untrusted, 23 offline, 24 busy, 130 interrupted.
    ///
    /// - Parameter particular: what errors have in place of their own.
    package init(
        _ particular: [ExitStatus: ExitStatus] = [:],
        help: [(status: ExitStatus, meaning: String)] = []
    ) {
        self.particular = particular
        self.help = help
    }

    /// Returns the exit status of an error that has the one given elsewhere.
    package func status(for usual: ExitStatus) -> ExitStatus { particular[usual] ?? usual }
}
