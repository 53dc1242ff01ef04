import CASStore
import Console
import HotPush
import OriginCommands
import StoreCommands
import VersionTree

/// Checks an origin: in a directory here, in a bucket or with files from a network with the program that speaks to networks.
@Sendable func checkedOrigin(
    _ invocation: Invocation, _ origin: String, _ options: CheckOptions
) throws -> ExitStatus {
    func isHere(_ text: String) throws -> Bool {
        if case .bucket = try invocation.origin(text).location { return false }
        return !text.contains("://")
    }
    let source = try invocation.value("from")
    guard try isHere(origin), try source.map(isHere) ?? true else {
        try SiblingProgram.pull.become()
    }
    try invocation.refuse(Option.bucketAccess, "is for origins in buckets: s3://BUCKET/PREFIX")
    return try invocation.checkOrigin(
        origin, options, in: { _ in try SiblingProgram.pull.become() },
        over: { location in
            guard case .directory(let path) = location else { try SiblingProgram.pull.become() }
            return DirectoryTransport(path)
        })
}

/// Opens what `fsck --from` names: a directory here, a URL with the program that speaks to networks.
///
/// - Throws: `.badOrigin`; `usage` for options about buckets; `noFetchingProgram` if that program is not installed.
///   What is returned throws `.noOrigin`.
@Sendable func originObjects(
    _ invocation: Invocation, _ origin: String
) throws -> (VersionStore) throws -> RepairSource {
    let location = try invocation.origin(origin).location
    guard case .directory(let path) = location else { try SiblingProgram.pull.become() }
    try invocation.refuse(Option.bucketAccess, "is for origins in buckets: s3://BUCKET/PREFIX")
    // As with pull, patience means nothing here and is taken: scripts need not know what an origin is.
    _ = try invocation.duration("timeout")
    return { versions in
        try Pull(into: versions, over: DirectoryTransport(path)).repairSource(origin, at: location)
    }
}
