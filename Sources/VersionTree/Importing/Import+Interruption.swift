import CASStore

extension Import {
    /// Reads the files; if the caller asks to stop meanwhile, keeps what was read for a repetition of the
    /// add: as objects that no version names, and in the stat cache.
    mutating func readKeeping(
        _ batch: ObjectBatch, _ lease: borrowing Lease, ordinal: Int64
    ) throws(StoreError) {
        do throws(StoreError) {
            try readFiles(batch)
        } catch {
            if error.code == .interrupted {
                // The error to report is the first. What cannot be kept will be read again.
                try? keep(batch, lease, ordinal: ordinal)
            }
            throw error
        }
    }

    private func keep(
        _ batch: ObjectBatch, _ lease: borrowing Lease, ordinal: Int64
    ) throws(StoreError) {
        let found = found
        let staged = found.stagedPositions.map { position in
            let position = Int(position)
            return StoredObject(
                address: found.records[position].address,
                byteCount: found.records[position].byteCount,
                fingerprint: found.states[position].fingerprint)
        }
        let store = versions.store
        // Not to be interrupted again: this is how the add stops.
        try store.uninterrupted { () throws(StoreError) in
            try store.keepStaged(
                staged, of: batch, lease: lease, cached: found.cacheable, ordinal: ordinal)
            try self.versions.rebuildHealedTrees()
        }
    }
}
