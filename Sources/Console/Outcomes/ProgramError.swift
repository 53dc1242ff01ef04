/// An error that says how a program reports it.
///
/// Errors of libraries become one where their commands are declared (``Command/translatingErrors(_:)``).
/// Whatever does not conform is reported too, with the code `internal`.
package protocol ProgramError: Error {
    /// A word for programs: stable, lower case, for example `no-such-version`.
    var code: String { get }
    /// A sentence for people: what failed, on what, and what to do.
    ///
    /// It MAY contain untrusted text: it is escaped when it is printed.
    var message: String { get }
    /// The exit status, unless its command has another for it (``ExitStatuses``).
    var status: ExitStatus { get }
}

/// An error of a command itself, where no library has one.
package struct CommandError: ProgramError, Hashable {
    /// A word for programs.
    package let code: String
    /// A sentence for people.
    package let message: String
    /// The exit status, unless its command has another for it.
    package let status: ExitStatus

    /// Makes an error with a code for programs and a message for people.
    package init(_ status: ExitStatus = .failed, code: String, message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    /// What a program reports about an error, whatever was thrown.
    init(reporting error: any Error) {
        switch error {
        case let error as any ProgramError:
            self.init(error.status, code: error.code, message: error.message)
        case is CancellationError: self = .interrupted
        default: self.init(code: "internal", message: "unexpected error: \(error)")
        }
    }

    /// Returns the error for arguments that do not make sense together.
    ///
    /// The report shows the command's usage line.
    package static func usage(_ message: String) -> CommandError {
        CommandError(.usage, code: "usage", message: message)
    }

    /// The error for work that a signal ended.
    package static let interrupted = CommandError(
        .interrupted, code: "interrupted", message: "interrupted")
}
