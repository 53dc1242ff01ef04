package import CASStore
package import Console
internal import VersionTree

extension CommandError {
    /// An error of the engine, as a program reports it: its own code and sentence, and an exit status.
    /// - Parameter status: nil for that of the code. `notFound` is only for things requested by name: a store, a
    ///   version. A file or directory that an operation finds missing is a failure of that operation.
    package init(_ error: StoreError, _ status: ExitStatus? = nil) {
        let usual: ExitStatus =
            switch error.code {
            case .noStore, .noVersion: .notFound
            case .interrupted: .interrupted
            case .busy, .locked: .busy
            case .untrusted: .untrusted
            default: .failed
            }
        self.init(status ?? usual, code: error.code.description, message: error.message)
    }
}

extension CommandError {
    /// Any error of a command, as its program reports it.
    package init(reportingStore error: any Error) {
        self = (error as? StoreError).map { CommandError($0) } ?? CommandError(reporting: error)
    }
}

extension Invocation {
    /// Returns what the closure makes of an argument; if it refuses, the command line is wrong.
    package func parsed<Value>(
        _ parse: () throws(StoreError) -> Value
    ) throws(CommandError) -> Value {
        do throws(StoreError) { return try parse() } catch { throw .usage(error.message) }
    }
}

extension Command {
    /// The same command, with errors of the engine reported by their codes and exit statuses.
    ///
    /// `StoreError` has a `code` of its own type and cannot be a `ProgramError` itself.
    package var reportingStoreErrors: Command {
        translatingErrors { error in (error as? StoreError).map { CommandError($0) } ?? error }
    }
}

/// Work that is optional for a command: `nil` if it fails, except for reasons that must end the command.
/// - Throws: `.locked`, so that the time of `--wait` is not spent twice; `.interrupted`.
package func ifPossible<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R? {
    do throws(StoreError) {
        return try body()
    } catch {
        if [.locked, .interrupted].contains(error.code) { throw error }
        return nil
    }
}
