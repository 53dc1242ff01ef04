import CASStore
import Console
import HotPush
import StoreCommands
import VersionTree

/// Opens what `fsck --from` names: a directory here, a URL with the program that speaks to networks.
///
/// - Throws: `.badOrigin`; `noFetchingProgram` if that program is not installed.
@Sendable func originObjects(
    _ invocation: Invocation, _ origin: String
) throws -> (VersionStore) throws -> RepairSource {
    let location = try OriginReference(parsing: origin).location
    guard case .directory(let path) = location else { try FetchingProgram.become() }
    return { versions in
        Pull(into: versions, over: DirectoryTransport(path)).repairSource(origin, at: location)
    }
}
