package import CASStore
import VersionTree

/// Refuses to write what a command line names into a store or an origin: what stands there would be replaced, or be found as
/// somebody's.
///
/// - Parameter path: the file or the directory to write, behind whatever links.
/// - Throws: `.insideStore`.
package func refuseOwnPlace(_ path: String) throws(StoreError) {
    let system = POSIXFileSystem()
    let here = POSIXFileSystem.workingDirectory
    var place = path
    // As many links as Linux follows (path_resolution(7)). What cannot be looked at, the writer says.
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

/// What a file that a command line names is written with: in a directory of somebody else's root is its owner, whatever links
/// that has made.
/// - Parameter directory: is open, and stays the same whatever its owner does.
package func fileSystem(
    forWritingIn directory: Int32, _ path: String
) throws(StoreError) -> any FileSystem {
    try POSIXFileSystem().owners(of: directory, path)
}

/// The directory of a path, with a slash at its end.
private func parent(of path: String) -> String {
    var path = path[...]
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    guard let slash = path.lastIndex(of: "/") else { return "./" }
    return String(path[...slash])
}
