// Cached parts of packs for buckets that are no longer used.

extension Store {
    static let packingAgeMax: Int64 = 30 * 86_400

    func unusedPacking() throws(StoreError) -> CollectionPlan.Packing {
        var found = CollectionPlan.Packing()
        // Read access suffices, also where nothing can be written.
        try eachUnusedPacking(locking: .reading) { (_, _, measure) throws(StoreError) in
            found.count(measure)
        }
        return found
    }

    /// Deletes and counts unused caches, for buckets that this store has not published to for a month.
    func removeUnusedPacking(_ removed: inout CollectionPlan.Packing) throws(StoreError) {
        try eachUnusedPacking(locking: .changing) { (packing, name, measure) throws(StoreError) in
            try self.fileSystem.removeTree(packing, name)
            removed.count(measure)
        }
    }

    /// Calls `body` with the parent directory, name and size of each unused cache, which stays locked meanwhile.
    private func eachUnusedPacking(
        locking access: Access,
        _ body: (Int32, String, TreeMeasure) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard
            let packing = try fileSystem.openIfPresent(
                directories.root.raw, StoreLayout.packing, .directory)
        else { return }
        let bound = secondsNow() - Self.packingAgeMax
        for name in try fileSystem.names(in: packing.raw) where StoreLayout.isPackingPlace(name) {
            // Every use creates a directory here, and removes it.
            var measure = TreeMeasure()
            guard let place = try fileSystem.openIfPresent(packing.raw, name, .directory),
                try fileSystem.status(place.raw).modifiedAt < bound * 1_000_000_000,
                // What cannot be read belongs to another user, who alone can delete it.
                try allowing(
                    { $0.code == .permission }, try measure.add(packing.raw, name, in: self)) != nil
            else { continue }
            guard
                let lock = try fileSystem.openIfPresent(place.raw, StoreLayout.packingLock, access)
            else {
                try body(packing.raw, name, measure)
                continue
            }
            guard try fileSystem.lock(lock.raw, exclusive: true) else { continue }
            defer { fileSystem.unlock(lock.raw) }
            try body(packing.raw, name, measure)
        }
    }
}

extension CollectionPlan.Packing {
    fileprivate mutating func count(_ measure: TreeMeasure) {
        places += 1
        byteCount += measure.apparentBytes
        diskByteCount += measure.copyBytes
    }
}
