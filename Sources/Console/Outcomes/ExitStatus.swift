/// The exit status of a program or the kind of an error; scripts compare the numbers, so they must not change.
package struct ExitStatus: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32

    package init(rawValue: Int32) {
        self.rawValue = rawValue
    }

    package static let done = ExitStatus(rawValue: 0)
    /// The operation failed; the message says why.
    package static let failed = ExitStatus(rawValue: 1)
    package static let usage = ExitStatus(rawValue: 2)
    /// The requested item does not exist.
    package static let notFound = ExitStatus(rawValue: 3)
    /// The offered version is banned on this device.
    package static let banned = ExitStatus(rawValue: 20)
    /// Verification failed: content does not match its promise, or the peer is not trusted.
    package static let untrusted = ExitStatus(rawValue: 22)
    /// The server cannot be reached.
    package static let offline = ExitStatus(rawValue: 23)
    /// Another process was at work for longer than the command may wait.
    package static let busy = ExitStatus(rawValue: 24)
    /// SIGINT or SIGTERM ended the work.
    package static let interrupted = ExitStatus(rawValue: 130)
}

/// The exit statuses of a program or a command: those of its errors, and their descriptions in help.
package struct ExitStatuses: Sendable {
    package let help: [(status: ExitStatus, meaning: String)]
    private let particular: [ExitStatus: ExitStatus]

    /// Makes exit statuses with the usual numbers of ``ExitStatus``.
    /// - Parameter particular: replacements for the usual statuses of errors.
    package init(
        _ particular: [ExitStatus: ExitStatus] = [:],
        help: [(status: ExitStatus, meaning: String)] = []
    ) {
        self.particular = particular
        self.help = help
    }

    package func status(for usual: ExitStatus) -> ExitStatus { particular[usual] ?? usual }
}
