import CASStore
import Console
import VersionTree

extension Argument {
    /// A version that must be there.
    static let version = Argument("VERSION", "the version's name", completion: .versions())
}

extension Invocation {
    /// Returns an operand that names a version.
    ///
    /// - Throws: `noVersion` for a name that no version can have: there is none of that name.
    func version(_ argument: String = "VERSION") throws(CommandError) -> String {
        let name = self.argument(argument)
        do {
            return try VersionName(name).description
        } catch {
            throw CommandError(
                .notFound, code: StoreError.Code.noVersion.description,
                message: "\(error.message); castree versions lists the versions")
        }
    }
}
