import CASStore
import Storage

// What an origin's directory itself is to be like, whatever its files say.

extension OriginDirectory {
    /// What not all can read who read the marker, or not all can write who should.
    func closedPlaces(
        _ root: Int32, _ rights: UInt32, opens: Bool, givingBackBy outside: (any FileSystem)? = nil,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> [ClosedPlace] {
        var places = try ClosedPlaces(
            in: root, rights, opens: opens, givingBackBy: outside, fileSystem)
        for name in [OriginLayout.marker, OriginLayout.log, OriginLayout.epochs]
            + OriginLayout.readNames
        { try places.look(at: name) }
        try places.look(at: OriginLayout.work, isPrivate: true)
        return places.found
    }

    /// Something else in place of a directory, or of what is in the publisher's own.
    struct Stranger {
        let path: String
        let kind: FileStatus.Kind
        /// Where it is now; `nil` where it was.
        var aside: String?
        /// Why it could not be moved.
        var obstacle: StoreError?
    }

    /// Refuses an origin of which a symbolic link stands in place of a directory.
    ///
    /// - Parameter unneeded: directories that are not needed.
    static func refuseLinks(
        _ root: Int32, _ fileSystem: any FileSystem, but unneeded: [String] = []
    ) throws(StoreError) {
        try fileSystem.list(root) { (entry, kind) throws(StoreError) in
            guard kind == .symbolicLink || kind == .unknown else { return true }
            let name = String(cString: entry)
            guard OriginLayout.directories.contains(name), !unneeded.contains(name),
                try fileSystem.status(root, name)?.kind == .symbolicLink
            else { return true }
            throw StoreError(.damagedOrigin, obstruction(name, .symbolicLink))
        }
    }

    /// What is wrong where something else stands in place of a directory.
    static func obstruction(_ name: String, _ kind: FileStatus.Kind) -> String {
        "\(kind.noun) stands in place of the origin's directory \(name), and nothing is read or written through it; put "
            + "the directory back. To keep an origin on another disk, move all of it"
    }

    /// Whether something is a link that does not lead to a file: to the directory elsewhere, or to a disk that is not mounted.
    private func isOfElsewhere(
        _ root: Int32, _ path: String, _ kind: FileStatus.Kind, _ fileSystem: any FileSystem
    ) -> Bool {
        guard kind == .symbolicLink, OriginLayout.directories.contains(path) else { return false }
        do throws(StoreError) {
            _ = try fileSystem.open(root, path, .directoryFollowingLinks, mode: 0)
            return true
        } catch {
            return !error.isNotDirectory
        }
    }

    /// Looks for such things.
    /// - Parameter moves: whether they are moved away.
    func strangers(
        _ root: Int32, moves: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [Stranger] {
        var found: [Stranger] = []
        func look(_ path: String, for kind: FileStatus.Kind) throws(StoreError) {
            do throws(StoreError) {
                guard let there = try fileSystem.status(root, path), there.kind != kind else {
                    return
                }
                found.append(Stranger(path: path, kind: there.kind))
                // Whoever reads the origin may read through it.
                guard moves, !isOfElsewhere(root, path, there.kind, fileSystem) else { return }
                let aside = "\(path).aside-\(try randomToken())"
                try fileSystem.rename(root, path, to: root, aside)
                found[found.count - 1].aside = aside
            } catch {
                guard error.isOfOneName || error.isNotDirectory else { throw error }
                if found.last?.path == path { found[found.count - 1].obstacle = error }
            }
        }
        for name in OriginLayout.directories { try look(name, for: .directory) }
        let work = OriginLayout.work
        try look(work, for: .directory)
        for name in [OriginLayout.staging, OriginLayout.frames, OriginLayout.sketches] {
            try look("\(work)/\(name)", for: .directory)
        }
        for name in [
            OriginLayout.lock, OriginLayout.packed, OriginLayout.clientLabels,
            OriginLayout.packingLock, OriginLayout.reserve,
        ] {
            try look("\(work)/\(name)", for: .regular)
        }
        return found
    }
}
