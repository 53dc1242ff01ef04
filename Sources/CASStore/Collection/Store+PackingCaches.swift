// What packs for buckets were made of, and nobody has used for long.

extension Store {
    /// For so many seconds it is kept after it was used last.
    static let packingAgeMax: Int64 = 30 * 86_400

    /// Deletes what packs were made of for buckets that this store has not published to for a month.
    ///
    /// Derived: whoever publishes there again compresses once more. A place in which somebody works stays.
    func removeUnusedPacking() throws(StoreError) {
        guard
            let packing = try fileSystem.openIfPresent(
                directories.root.raw, StoreLayout.packing, .directory)
        else { return }
        let bound = secondsNow() - Self.packingAgeMax
        for name in try fileSystem.names(in: packing.raw) where StoreLayout.isPackingPlace(name) {
            // Each work makes a directory here, and removes it.
            guard let place = try fileSystem.openIfPresent(packing.raw, name, .directory),
                try fileSystem.status(place.raw).modifiedAt < bound * 1_000_000_000
            else { continue }
            if let lock = try fileSystem.openIfPresent(
                place.raw, StoreLayout.packingLock, .changing),
                try !fileSystem.lock(lock.raw, exclusive: true)
            {
                continue
            }
            try fileSystem.removeTree(packing.raw, name)
        }
    }
}
