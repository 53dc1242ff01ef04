package import CASStore
import VersionTree

/// Refuses to write a named output into a store or an origin, where it would replace a file or be taken for one of
/// theirs.
/// - Parameter path: the file or the directory to write; links are followed.
/// - Throws: `.insideStore`.
package func refuseOwnPlace(_ path: String) throws(StoreError) {
    let system = POSIXFileSystem()
    let here = POSIXFileSystem.workingDirectory
    var place = path
    // Follow as many links as Linux does (path_resolution(7)). The writer reports paths that cannot be examined.
    for _ in 0..<40 {
        guard let target = try? system.symbolicLink(here, place) else { break }
        place = target.hasPrefix("/") ? target : parent(of: place) + target
    }
    // As above.
    guard
        let directory = try? system.openIfPresent(here, parent(of: place), .directoryFollowingLinks)
    else { return }
    guard let own = try system.ownPlace(around: directory.raw) else { return }
    throw StoreError(
        .insideStore,
        "unable to write \(printable(path)): it is inside \(own), where only castree puts files; choose a place outside of it"
    )
}

/// The file system for writing a file that a command line names.
///
/// In a directory that another user owns, root writes as that owner, so that the owner's links gain nothing.
/// - Parameter directory: an open directory, which stays the same whatever its owner does.
package func fileSystem(
    forWritingIn directory: Int32, _: String
) throws(StoreError) -> any FileSystem {
    let system = POSIXFileSystem()
    return try system.owners(of: directory, system.path(of: directory))
}

private func parent(of path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "./" }
    return String(path[...slash])
}
