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

    /// Something else in place of the publisher's own directory, or of what is in it.
    struct Stranger {
        let path: String
        let kind: FileStatus.Kind
        /// Where it is now; `nil` where it was.
        var aside: String?
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
                guard moves else { return }
                let aside = "\(path).aside-\(try randomToken())"
                try fileSystem.rename(root, path, to: root, aside)
                found[found.count - 1].aside = aside
            } catch {
                guard error.isOfOneName || error.isNotDirectory else { throw error }
            }
        }
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
