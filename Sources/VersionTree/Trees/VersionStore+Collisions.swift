import CASStore

extension VersionStore {
    /// Finds the paths of a version that some file systems would merge, and refuses the version if
    /// this one would.
    /// - Returns: the collisions; this file system keeps the paths apart.
    /// - Throws: `.pathCollision`, naming the first two.
    func refuseCollisions(
        of manifest: Manifest, in directory: Int32? = nil
    ) throws(StoreError) -> [PathCollision] {
        let collisions = PathCollision.find(in: manifest)
        guard let first = collisions.first else { return [] }
        if try mergesNames(directory ?? directories.versions.raw) {
            throw StoreError(
                .pathCollision,
                "\"\(printable(first.first))\" and \"\(printable(first.second))\" would be one "
                    + "file on this file system; rename one of them")
        }
        return collisions
    }

    /// Whether the file system merges names that differ in case or Unicode form: found by trying.
    private func mergesNames(_ directory: Int32) throws(StoreError) -> Bool {
        let token = try randomToken()
        // "É" as one code point and as two.
        let pairs = [("case", "CASE"), ("\u{e9}", "e\u{301}")]
        for (made, asked) in pairs {
            let probe = ".probe-\(token)-\(made)"
            _ = try fileSystem.open(directory, probe, .creating, mode: 0o600)
            let isMerged = try fileSystem.status(directory, ".probe-\(token)-\(asked)") != nil
            try fileSystem.removeIfPresent(directory, probe)
            if isMerged { return true }
        }
        return false
    }
}
