import CASStore
import Console
import StoreCommands
import VersionTree

extension Argument {
    /// A version that must exist.
    static let version = Argument("VERSION", "the version's name", completion: .versions())
}

extension Invocation {
    /// Returns an operand that names a version.
    ///
    /// - Throws: `noVersion` for a name that no version can have.
    func version(_ argument: String = "VERSION") throws(CommandError) -> String {
        try Self.version(named: self.argument(argument))
    }

    /// Returns a name as a version's.
    ///
    /// - Throws: `noVersion` for a name that no version can have.
    static func version(named name: String) throws(CommandError) -> String {
        do {
            return try VersionName(name).description
        } catch {
            throw CommandError(
                StoreError(.noVersion, "\(error.message); castree versions lists the versions"))
        }
    }
}
