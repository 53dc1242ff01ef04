/// An error that says how a program reports it; any other is reported with the code `internal`.
///
/// Errors of libraries become one where their commands are declared (``Command/translatingErrors(_:)``).
package protocol ProgramError: Error {
    /// A word for programs: stable, lower case, for example `no-such-version`.
    var code: String { get }
    /// A sentence for people: what failed, on what, and what to do; escaped when printed, so it may be untrusted.
    var message: String { get }
    /// The exit status, unless its command has another for it (``ExitStatuses``).
    var status: ExitStatus { get }
}

/// An error of a command itself, where no library has one.
package struct CommandError: ProgramError, Hashable {
    package let code: String
    package let message: String
    package let status: ExitStatus

    package init(_ status: ExitStatus = .failed, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    package init(reporting error: any Error) {
        switch error {
        case let error as any ProgramError:
            self.init(error.status, code: error.code, message: error.message)
        case is CancellationError: self = .interrupted
        default: self.init(code: "internal", message: "unexpected error: \(error)")
        }
    }

    /// The error for arguments that do not make sense together; the report shows the command's usage line.
    package static func usage(_ message: String) -> CommandError {
        CommandError(.usage, code: "usage", message: message)
    }

    package static let interrupted = CommandError(
        .interrupted, code: "interrupted", message: "interrupted")
}
