// Records a version: the last step before it is acknowledged.

extension Store {
    /// Protects what a version will name: no collector deletes it while the lease lasts.
    /// - Returns: the index version; what the index proved at that version stays.
    /// - Throws: `.versionExists` when the name is taken by other content.
    package func reserve(
        _ registration: Registration, lease: borrowing Lease
    ) throws(StoreError) -> IndexVersion {
        let references = registration.references
        try reserve(count: references.count, { references[$0].address }, lease: lease)
        return try reading { (index) throws(StoreError) in
            try Self.checkName(registration, index)
            return try index.currentVersion()
        }
    }

    private static func checkName(
        _ registration: Registration, _ index: IndexTransaction
    ) throws(StoreError) {
        let name = registration.name
        if let known = try index.version(name), known.content != registration.content,
            known.recovery == .none
        {
            throw StoreError.versionExists(name)
        }
        if let other = try index.nameInOtherCase(name) {
            throw StoreError(
                .versionExists,
                "version \(name) differs from version \(other) in case only, and some file systems "
                    + "do not tell them apart; choose another name")
        }
    }

    /// Records a version and the objects that it brings, in one transaction, and makes everything durable with it.
    /// - Parameters:
    ///   - registration: what to record, and whether others could write since the manifest got its name; called again
    ///     if the transaction runs again.
    ///   - rows: about how many rows will change.
    ///   - knowledge: what the writer knows about the object at a position of the manifest; `nil` to register a
    ///     version of which objects may still be missing.
    ///   - cached: source files and their content, for the stat cache.
    ///   - preparing: makes durable what the record relies on, and gives names, while no one else can record; `nil`
    ///     if all that was done before. Must neither use the index nor wait for a process that does.
    ///   - indexVersion: the index version after the transaction.
    /// - Returns: the versions that this completed.
    /// - Throws: `.lost` if the manifest was retired, or objects are gone that the version relied on: look and write
    ///   again.
    package func record(
        _ registration: () -> (Registration, mayBeAnother: Bool), rows: Int,
        knowing knowledge: ((Int) -> WriterKnowledge?)?,
        cached: some Sequence<(StatKey, ObjectID)>, preparing: (() throws(StoreError) -> Void)?,
        at indexVersion: inout IndexVersion?
    ) throws(StoreError) -> [String] {
        var left: IndexVersion?
        defer { indexVersion = left }
        return try index { (index) throws(StoreError) in
            try index.write(rows: rows, preparing: preparing) {
                (index) throws(StoreError) -> [String] in
                left = try index.currentVersion()
                let (registration, mayBeAnother) = registration()
                try self.record(registration, knowledge, index, mayBeAnother: mayBeAnother)
                try index.cache(cached, ordinal: registration.ordinal)
                try index.trimCache(
                    ordinal: registration.ordinal, files: registration.fileCount)
                try index.noteManifestsDirectory()
                return try index.completeVersions()
            } syncing: { (index) throws(StoreError) in
                // Committed, as the next generation; making it durable may still fail.
                left?.generation += 1
                try self.syncAll(with: index)
            }
        }
    }

    /// Takes back names that were given but not recorded, unless the version has been recorded elsewhere by now.
    /// - Parameters:
    ///   - indexVersion: the index version after the transaction that should have recorded it; `nil` if there was none.
    ///   - takeBack: called while no one else can record it; must not use the index.
    package func undo(
        _ version: String, since indexVersion: IndexVersion?,
        _ takeBack: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try index { (index) throws(StoreError) in
            if let indexVersion {
                try index.locks.lock(.writing)
                defer { index.locks.unlock() }
                // No one has written since and relies on it. Do not use the index, which may be in doubt or full.
                let stamp = try index.readStamp()
                // No stamp: writing it, the last step of this very transaction, was cut short.
                guard let stamp else { return try takeBack() }
                if stamp.epoch == indexVersion.epoch, stamp.committed <= indexVersion.generation {
                    return try takeBack()
                }
            }
            try index.write { (index) throws(StoreError) in
                guard try index.version(version) == nil else { return }
                try takeBack()
                try index.noteManifestsDirectory()
            }
        }
    }

    private func record(
        _ registration: Registration, _ knowledge: ((Int) -> WriterKnowledge?)?,
        _ index: IndexTransaction, mayBeAnother: Bool
    ) throws(StoreError) {
        let manifest = try fileSystem.status(
            directories.manifests.raw, StoreLayout.manifest(registration.name))
        guard let manifest else { throw StoreError(.lost, "the manifest was retired meanwhile") }
        try Self.checkName(registration, index)
        if mayBeAnother, let file = registration.file,
            try !file.isSameFile(as: manifest, fileSystem)
        {
            throw StoreError(.lost, "the version was retired meanwhile, and added again")
        }
        // Registered before with the same content: record it anew, because some objects may be back.
        if let before = try index.version(registration.name) {
            try index.removeVersion(id: before.id)
        }
        let absent = try index.insertVersion(
            registration, stored: knowledge ?? { _ in nil }
        ) { (address) throws(StoreError) in try self.objects.contains(address) }
        guard absent.isEmpty || knowledge == nil else {
            throw StoreError(.lost, "objects are gone that the version relied on")
        }
        try index.noteManifest(registration.name, Index.identity(manifest))
    }

    /// Publishes a stopped writer's objects without a version, so that repeated work need not write them again.
    ///
    /// Nothing is acknowledged, and the next collection deletes those that are still unnamed.
    /// - Parameters:
    ///   - objects: staged objects, hashed while they were written.
    ///   - cached: source files and their content, for the stat cache.
    ///   - ordinal: that of the version which was to name them.
    package func keepStaged(
        _ objects: [StoredObject], of batch: ObjectBatch, lease: borrowing Lease,
        cached: some Sequence<(StatKey, ObjectID)>, ordinal: Int64
    ) throws(StoreError) {
        // In the index's own order each of its pages is read and written once, whatever the cache holds.
        let objects = objects.sorted { $0.address < $1.address }
        // This waits for a collector that has announced the deletion of one of them.
        try reserve(count: objects.count, { objects[$0].address }, lease: lease)
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
