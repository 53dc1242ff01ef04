import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

extension Invocation {
    /// `withdraw` from an origin in a directory.
    func withdrawFromDirectory() throws -> ExitStatus {
        let name = try VersionName(try version())
        let pointer = try publisher().withdraw(
            name, from: try channel(), toEmbedded: flag("embedded"))
        return try reportWithdrawal(of: name, pointer)
    }
}
