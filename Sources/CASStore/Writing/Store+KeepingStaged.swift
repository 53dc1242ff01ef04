// What a writer had staged when it was asked to stop.

extension Store {
    /// Publishes staged objects that no version names, so that a repetition of the work need not write
    /// them again; the next collection deletes what nobody has named by then.
    ///
    /// Nothing is promised: a crash anywhere leaves what a dead writer leaves.
    /// - Parameters:
    ///   - objects: what was staged, hashed while it was written.
    ///   - cached: source files and what they contain, for the stat cache.
    ///   - ordinal: that of the version which was to name them.
    package func keepStaged(
        _ objects: [StoredObject], of batch: ObjectBatch, lease: borrowing Lease,
        cached: some Sequence<(StatKey, ObjectID)>, ordinal: Int64
    ) throws(StoreError) {
        // In the index's own order each of its pages is read and written once, whatever the cache holds.
        let objects = objects.sorted { $0.address < $1.address }
        // This waits for a collector that has announced the deletion of one of them.
        try claim(count: objects.count, { objects[$0].address }, lease: lease)
        try batch.syncStaged(objects.lazy.map(\.address))
        try batch.publish(count: objects.count) { objects[$0].address }
        try writing(rows: objects.count * 2) { (index) throws(StoreError) in
            for object in objects { try index.setPresent(object) }
            try index.cache(cached, ordinal: ordinal)
            _ = try index.completeVersions()
        } syncing: { (index) throws(StoreError) in
            try self.syncAll(with: index)
        }
        for object in objects { try batch.dropStagedName(object.address) }
    }
}
