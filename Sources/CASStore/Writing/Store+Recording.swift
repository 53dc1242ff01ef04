// Noting what is now on disk.

extension Store {
    /// Notes that objects are on disk, verified and durable except for their names: makes those durable,
    /// too.
    func recordPublished(_ published: [StoredObject]) throws(StoreError) -> [String] {
        try writing { (index) throws(StoreError) in
            for object in published { try index.setPresent(object) }
            return try index.completeVersions()
        } syncing: { (index) throws(StoreError) in
            try self.syncAll(with: index)
        }
    }

    /// Makes a batch of objects.
    package func makeBatch(_ lease: borrowing Lease) throws(StoreError) -> ObjectBatch {
        try ObjectBatch(self, lease: lease.name)
    }
}
