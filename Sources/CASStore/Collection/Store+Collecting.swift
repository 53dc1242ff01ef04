// Deletes what nothing references. The cost depends on the garbage, not on the store.

extension Store {
    /// Deletes what nothing references, in two phases: announce, then delete what is still garbage.
    ///
    /// Safe beside writers: one that needs an announced object takes it back in its own transaction, or writes it
    /// again. A repetition after a crash finishes the work. Runs on a full disk. Files that cannot be removed stay
    /// and are reported once (``StoreOptions``, `notice`); the others go.
    /// - Throws: `.index` while a manifest cannot be read: then the roots are in doubt.
    @discardableResult
    public func collect(
        progress: (Collected) -> Void = { _ in }
    ) throws(StoreError) -> Collected {
        try checkWritable()
        // A second run continues counting.
        var collected = Collected()
        return try withReserve { () throws(StoreError) -> Collected in
            try self.recoverDeadLeases()
            try self.recoverLostLeases()
            let unit = try self.allocationUnit()
            var next: Int64? = 0
            while let after = next {
                try self.checkInterruption()
                next = try self.collectBatch(after: after, unit, &collected)
                progress(collected)
            }
            let quarantine = self.directories.quarantine.raw
            let quarantined = try self.fileSystem.names(in: quarantine) { (name, _) in
                ObjectID(name) != nil
            }
            for name in quarantined.sorted() {
                let status = try self.fileSystem.status(quarantine, name)
                let path = "\(StoreLayout.quarantine)/\(name)"
                let isGone = try self.passingOver(path) { () throws(StoreError) in
                    if status?.kind == .directory {
                        try self.removeTreeKeepingContent(in: StoreLayout.quarantine, name)
                    } else {
                        // Whatever its link count: its other links may be where no repair looks.
                        try self.keepIfLast(path)
                        try self.fileSystem.removeIfPresent(quarantine, name)
                    }
                }
                guard isGone else { continue }
                collected.objectCount += 1
                collected.byteCount += status?.byteCount ?? 0
                collected.diskByteCount += (status?.blocks ?? 0) * 512
            }
            for file in try self.unwantedPartials(removing: true) {
                collected.objectCount += 1
                collected.byteCount += file.byteCount
                collected.diskByteCount += file.diskByteCount
            }
            // Nothing needs it, and the next collection tries again.
            try? self.removeUnusedPacking(&collected.packing)
            collected.diskByteCount += collected.packing.diskByteCount
            // A command that met a used-up quota may have taken it.
            try? self.makeReserve()
            return collected
        }
    }

    private static let batch = 2048

    /// - Returns: the last id looked at, or `nil` if there is no garbage after it.
    private func collectBatch(
        after: Int64, _ unit: AllocationUnit, _ collected: inout Collected
    ) throws(StoreError) -> Int64? {
        // Announce and look in one transaction: after a rebuild ids mean nothing, and an index in memory does not
        // decide what may go.
        var damaged: [String] = []
        var isLast = true
        let last = try writing(rows: Self.batch) {
            (index) throws(StoreError) -> Int64? in
            try index.connection.execute(IndexSchema.cacheWhileCollecting)
            // The manifests are the roots; a count is only a hint.
            damaged = try index.reconcile(thoroughly: true)
            guard damaged.isEmpty else { return nil }
            let batch = try index.garbage(after: after, limit: Self.batch)
            isLast = batch.count < Self.batch
            try index.markForDeletion(batch.map(\.id))
            return batch.last?.id
        }
        try Self.refuse(damaged)
        guard let last else { return nil }
        let kept = try keepUnlessProven(after: after, through: last)
        let (gone, copied) = try writing(rows: Self.batch) {
            (index) throws(StoreError) -> ([ObjectRow], Set<ObjectID>) in
            // Writers take objects back under this same lock, so none takes one back in between.
            let reserved = try self.reservedAddresses()
            var gone = try index.markedForDeletion(after: after, through: last)
                .filter { !reserved.contains($0.address) && !kept.contains($0.address) }
            try index.refuseNamed(gone.map(\.id))
            var left: Set<ObjectID> = []
            let copied = try self.objects.remove(gone.map(\.address)) {
                (address, delete) throws(StoreError) in
                let path = "\(StoreLayout.objects)/\(StoreLayout.objectPath(address))"
                if try !self.passingOver(path, delete) { left.insert(address) }
            }
            gone.removeAll { left.contains($0.address) }
            try index.forget(gone.map(\.id))
            try index.forgetGarbageOrigins()
            try index.connection.execute(IndexSchema.cache)
            return (gone, copied)
        } syncing: { (index) throws(StoreError) in
            // Deletions become durable together with the rows, so that a power cut leaves no unknown files.
            try self.syncAll(with: index)
        }
        for row in gone where row.state != .absent {
            collected.objectCount += 1
            collected.byteCount += row.byteCount
            let fileCount: Int64 = copied.contains(row.address) ? 2 : 1
            collected.diskByteCount += unit.diskBytes(row.byteCount) * fileCount
        }
        return isLast ? nil : last
    }

    static func refuse(_ manifests: [String]) throws(StoreError) {
        guard let first = manifests.first else { return }
        throw StoreError(
            .index,
            "nothing is collected while manifest \(printable(first)) cannot be read or is not the registered one, because the objects it needs are unknown; castree fsck --repair restores it from the version's tree, or says what to do"
        )
    }

    /// Reads objects known only by name (from a rebuilt index), which may be the last copy of something else.
    /// - Returns: those that could not be kept, and so stay where they are.
    private func keepUnlessProven(
        after: Int64, through last: Int64
    ) throws(StoreError) -> Set<ObjectID> {
        let unproven = try reading { (index) throws(StoreError) in
            try index.markedForDeletion(after: after, through: last).filter {
                $0.fingerprint == nil
            }
        }
        guard !unproven.isEmpty else { return [] }
        var stuck: Set<ObjectID> = []
        var checker = try ObjectChecker()
        for row in unproven {
            try checkInterruption()
            guard try objects.hasShard(of: row.address) else { continue }
            for isCopy in [false, true] {
                let path = StoreLayout.objectPath(row.address, executable: isCopy)
                let isKept = try passingOver(
                    "\(StoreLayout.objects)/\(path)",
                    try objects.keepUnlessObject(at: path, of: row.address, checker: &checker))
                if !isKept { stuck.insert(row.address) }
            }
        }
        return stuck
    }

    /// Files named by an address, directly in a directory.
    /// - Parameter addressOf: parses a name; `nil` for other files.
    func leftovers(
        in directory: Int32, _ reason: CollectionPlan.Reason,
        addressOf: (String) -> ObjectID? = { ObjectID($0) },
        besides others: (String) throws(StoreError) -> Void = { (_) throws(StoreError) in },
        where isUnwanted: (String) throws(StoreError) -> Bool
    ) throws(StoreError) -> [CollectionPlan.Garbage] {
        var found: [CollectionPlan.Garbage] = []
        try fileSystem.list(directory) { (entry, kind) throws(StoreError) in
            let name = String(cString: entry)
            let address = addressOf(name)
            if address == nil { try others(name) }
            guard kind != .directory, let address,
                let status = try fileSystem.status(directory, entry), status.kind == .regular,
                try isUnwanted(name)
            else { return true }
            found.append(
                .init(
                    address: address, byteCount: status.byteCount, reason: reason,
                    diskByteCount: status.blocks * 512))
            return true
        }
        return found.sorted { $0.address < $1.address }
    }

    /// Partial objects that no version names and no writer has open, removed under their lock.
    func unwantedPartials(
        removing: Bool
    ) throws(StoreError) -> [CollectionPlan.Garbage] {
        let staging = directories.staging.raw
        let others: (String) throws(StoreError) -> Void = { (name) throws(StoreError) in
            guard removing else { return }
            try self.passingOver(
                "\(StoreLayout.staging)/\(name)", try PartSource.removeOrphan(name, self))
        }
        return try leftovers(
            in: staging, .partial, addressOf: { PartName($0)?.name }, besides: others
        ) { (name) throws(StoreError) in
            guard let part = PartName(name), try !self.isAwaited(part) else { return false }
            var isUnwanted = false
            let isDone = try self.passingOver("\(StoreLayout.staging)/\(name)") {
                () throws(StoreError) in
                isUnwanted = try self.isUnwanted(part, name, removing: removing)
            }
            return isUnwanted && isDone
        }
    }

    private func isUnwanted(
        _ part: PartName, _ name: String, removing: Bool
    ) throws(StoreError) -> Bool {
        let staging = directories.staging.raw
        // A second link: recovery records the object and drops the name.
        let status = try fileSystem.status(staging, name)
        if !removing, let status, status.linkCount > 1 { return false }
        guard let file = try fileSystem.openIfPresent(staging, name, .reading),
            try fileSystem.lock(file.raw, exclusive: true)
        else { return false }
        // Between open and lock its writer may have published it, and another may have begun under its name.
        guard let here = try fileSystem.status(staging, name),
            here.isSameFile(as: try fileSystem.status(file.raw))
        else { return false }
        if removing {
            try PartSource(self, part.name).remove()
            try fileSystem.removeIfPresent(staging, name)
        }
        return true
    }

    package func dropUnwantedPartials() throws(StoreError) {
        _ = try unwantedPartials(removing: true)
    }

    private func isAwaited(_ part: PartName) throws(StoreError) -> Bool {
        let known = try reading { (index) throws(StoreError) in try index.object(part.object) }
        guard let known, known.references > 0 else { return false }
        return part.leadsTo == nil || !known.isPresent
    }
}
