import CASStore
import S3
import Storage

extension OriginLocation {
    /// The place as `trust.json` names it, in one spelling: the first of ``trustPlaces``.
    package var trustPlace: String { trustPlaces[0] }

    /// All names of the place: whoever trusts something at one of them trusts it here.
    ///
    /// Rather two places with one name than one with two: a release that is not signed is then refused where nobody asked
    /// for it, and not taken where somebody did. So neither user, default port nor endpoint counts. A directory has the name
    /// that was given for it, so that a link put in its place is no way around the trust; where each link on the way
    /// leads; and the one without links.
    package var trustPlaces: [String] {
        switch self {
        case .bucket(let bucket): return [bucket.description]
        case .web(let base): return [WebPlace.name(of: base)]
        case .directory(let path): return Self.names(of: path)
        }
    }

    private static func names(of path: String) -> [String] {
        let fileSystem = POSIXFileSystem()
        let here = POSIXFileSystem.workingDirectory
        var names: [String] = []
        func note(_ parts: [Substring]) {
            let name = "/" + WebPlace.withoutDots(parts, ".", "..").joined(separator: "/")
            if !names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) { names.append(name) }
        }
        var rest = absolute(path, fileSystem).split(separator: "/")[...]
        var walked: [Substring] = []
        var linkCount = 0
        note(Array(rest))
        while let part = rest.popFirst() {
            if part == ".." { _ = walked.popLast() }
            if part == "." || part == ".." { continue }
            walked.append(part)
            // More links than these nobody follows (path_resolution(7)).
            guard linkCount < 40 else { continue }
            let path = "/" + walked.joined(separator: "/")
            // What is not there yet, or cannot be looked at, leads nowhere.
            guard let target = try? fileSystem.symbolicLink(here, path) else { continue }
            linkCount += 1
            if target.hasPrefix("/") { walked = [] } else { walked.removeLast() }
            rest = (target.split(separator: "/") + rest)[...]
            note(walked + rest)
        }
        note(walked)
        return names
    }

    private static func absolute(_ path: String, _ fileSystem: POSIXFileSystem) -> String {
        if path.hasPrefix("/") { return path }
        // Where the system does not tell (proc(5)), one name in each directory must do.
        let above = try? fileSystem.symbolicLink(
            POSIXFileSystem.workingDirectory, "/proc/self/cwd")
        return (above ?? "") + "/" + path
    }
}
