import CASStore

// Room on a full disk: taking back must not wait for it.

extension OriginPlace {
    private static let reserveByteCount: Int64 = 512 << 10

    /// Reserves room for the pointers and notes of a day when the disk is full; does without where it cannot.
    func makeReserve() {
        let path = "\(OriginLayout.work)/\(OriginLayout.reserve)"
        do throws(StoreError) {
            guard try fileSystem.status(root, path) == nil else { return }
            let file = try fileSystem.open(root, path, .creating, mode: 0o600)
            try fileSystem.reserve(file.raw, Self.reserveByteCount)
        } catch {
            // Half of it is no use to anybody.
            try? fileSystem.removeIfPresent(root, path)
        }
    }

    /// Deletes the reserve, else what packing has kept for the next release.
    /// - Returns: whether there was any of it.
    func makeRoom() throws(StoreError) -> Bool {
        let reserve = "\(OriginLayout.work)/\(OriginLayout.reserve)"
        if try fileSystem.status(root, reserve)?.kind == .regular {
            try fileSystem.removeIfPresent(root, reserve)
            return true
        }
        let work = try fileSystem.open(root, OriginLayout.work, .directory, mode: 0)
        return try PackingPlace.dropCaches(in: work.raw, fileSystem)
    }
}
