import CASStore
package import Console
import VersionTree

extension Argument {
    package static let version = Argument("VERSION", "the version's name", completion: .versions())
}

extension Invocation {
    /// An operand that names a version.
    /// - Throws: `noVersion` for a name that no version can have.
    package func version(_ argument: String = "VERSION") throws(CommandError) -> String {
        try Self.version(named: self.argument(argument))
    }

    /// A name as a version's.
    /// - Throws: `noVersion` for a name that no version can have.
    package static func version(named name: String) throws(CommandError) -> String {
        do {
            return try VersionName(name).description
        } catch {
            throw CommandError(
                StoreError(.noVersion, "\(error.message); castree versions lists the versions"))
        }
    }
}

extension Option {
    package static let withoutSync = flag(
        "no-sync",
        "DANGEROUS: do not wait for the disk; a power cut or system crash may lose or damage what was written"
    )
}
