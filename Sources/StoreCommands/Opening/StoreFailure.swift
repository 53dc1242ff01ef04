internal import CASStore
package import Console
internal import VersionTree

/// An error of the engine, as a program reports it: its own code and sentence, and a kind by which
/// the exit status is chosen.
struct StoreFailure: ProgramError {
    let code: String
    let message: String
    let kind: ErrorKind

    init(_ error: StoreError) {
        code = error.code.description
        message = error.message
        kind = Self.kind(of: error.code)
    }

    /// Returns the kind of a code.
    ///
    /// Not there is only what was asked for by name: a store, a version. A file or directory that an
    /// operation stumbles over is a failure of that operation.
    private static func kind(of code: StoreError.Code) -> ErrorKind {
        switch code {
        case .noStore, .noVersion: .notFound
        case .interrupted: .interrupted
        case .busy, .locked: .busy
        default: .failed
        }
    }
}

extension Command {
    /// The same command, with errors of the engine reported by their codes and kinds.
    ///
    /// `StoreError` has a `code` of its own type and cannot be a `ProgramError` itself.
    package var reportingStoreErrors: Command {
        let run = run
        return Command(
            name, summary: summary, discussion: discussion, arguments: arguments,
            options: options, exitStatusHelp: exitStatusHelp, statuses: statuses,
            isHidden: isHidden
        ) { invocation in
            do {
                return try run(invocation)
            } catch let error as StoreError {
                throw StoreFailure(error)
            }
        }
    }
}
