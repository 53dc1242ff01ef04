import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

/// Where `fsck --from` leads: a directory is read here, a URL by the program that speaks to networks.
///
/// - Throws: `.badOrigin`; that the program is not installed.
@Sendable func originObjects(
    _ invocation: Invocation, _ origin: String
) throws -> (VersionStore) throws -> RepairSource {
    let location = try OriginReference(parsing: origin).location
    guard case .directory(let path) = location else { try FetchingProgram.become() }
    return { versions in
        Pull(into: versions, over: DirectoryTransport(path)).repairSource(origin, at: location)
    }
}
