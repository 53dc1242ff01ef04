/// A write transaction of the store, lent to a caller that gives files their names and records them.
///
/// While it lasts, no one else records anything. After a rebuild of the index it is lent again. Its borrower must not
/// wait for a process that uses the index.
package struct StoreTransaction: ~Copyable {
    private let store: Store
    private let index: IndexTransaction

    fileprivate init(_ store: Store, _ index: IndexTransaction) {
        self.store = store
        self.index = index
    }

    /// Makes durable what was written so far, before names are given.
    package func sync() throws(StoreError) { try store.syncAll() }

    package func version(_ name: String) throws(StoreError) -> VersionRow? {
        try index.version(name)
    }

    /// Records a version whose manifest has its name, and the objects that it brings.
    /// - Parameters:
    ///   - mayBeAnother: whether others could write since the manifest got its name.
    ///   - knowledge: what the writer knows about the object at a position of the manifest; `nil` to register a
    ///     version of which objects may still be missing.
    ///   - cached: source files and their content, for the stat cache.
    /// - Returns: the versions that this completed.
    /// - Throws: `.lost` if the manifest was retired, or objects are gone that the version relied on: look and write
    ///   again.
    package func record(
        _ registration: Registration, mayBeAnother: Bool,
        knowing knowledge: ((Int) -> WriterKnowledge?)?, cached: some Sequence<(StatKey, ObjectID)>
    ) throws(StoreError) -> [String] {
        guard let manifest = try manifestStatus(registration) else {
            throw StoreError(.lost, "the manifest was retired meanwhile")
        }
        try index.refuseTaken(registration)
        if mayBeAnother, let file = registration.file,
            try !file.isSameFile(as: manifest, store.fileSystem)
        {
            throw StoreError(.lost, "the version was retired meanwhile, and added again")
        }
        // Registered before with the same content: record it anew, because some objects may be back.
        let absent = try insert(registration, knowing: knowledge)
        guard absent.isEmpty || knowledge == nil else {
            throw StoreError(.lost, "objects are gone that the version relied on")
        }
        try index.noteManifest(registration.name, Index.identity(manifest))
        try index.cache(cached, ordinal: registration.ordinal)
        try index.trimCache(ordinal: registration.ordinal, files: registration.fileCount)
        try index.noteManifestsDirectory()
        return try index.completeVersions()
    }

    /// Records what a version names from now on, in place of what it named, before its manifest is replaced.
    /// - Parameter acceptsContradictions: whether the manifest may give an existing object another size.
    /// - Throws: `.mismatch` if it gives an existing object another size.
    package func revise(
        _ registration: Registration, acceptsContradictions: Bool
    ) throws(StoreError) {
        _ = try insert(registration, acceptsContradictions: acceptsContradictions)
    }

    /// Records the manifest that a revised version has now.
    /// - Returns: whether the version is complete.
    package func noteRevised(_ registration: Registration) throws(StoreError) -> Bool {
        if let manifest = try manifestStatus(registration) {
            try index.noteManifest(registration.name, Index.identity(manifest))
        }
        try index.noteManifestsDirectory()
        _ = try index.completeVersions()
        return try index.version(registration.name)?.isComplete == true
    }

    private func manifestStatus(_ registration: Registration) throws(StoreError) -> FileStatus? {
        try store.fileSystem.status(
            store.directories.manifests.raw, StoreLayout.manifest(registration.name))
    }

    private func insert(
        _ registration: Registration, knowing knowledge: ((Int) -> WriterKnowledge?)? = nil,
        acceptsContradictions: Bool = false
    ) throws(StoreError) -> [UInt32] {
        if let before = try index.version(registration.name) {
            try index.removeVersion(id: before.id)
        }
        let objects = store.objects
        return try index.insertVersion(
            registration, stored: knowledge ?? { _ in nil },
            acceptsContradictions: acceptsContradictions
        ) { (address) throws(StoreError) in try objects.contains(address) }
    }
}

extension IndexTransaction {
    /// - Throws: `.versionExists` when the name is taken by other content.
    fileprivate func refuseTaken(_ registration: Registration) throws(StoreError) {
        let name = registration.name
        if let known = try version(name), known.content != registration.content,
            known.recovery == .none
        {
            throw StoreError.versionExists(name)
        }
        if let other = try nameInOtherCase(name) {
            throw StoreError(
                .versionExists,
                "version \(name) differs from version \(other) in case only, and some file systems "
                    + "do not tell them apart; choose another name")
        }
    }
}

extension Store {
    /// Protects what a version will name: no collector deletes it while the lease lasts.
    /// - Returns: the index version; what the index proved at that version stays.
    /// - Throws: `.versionExists` when the name is taken by other content.
    package func reserve(
        _ registration: Registration, lease: borrowing Lease
    ) throws(StoreError) -> IndexVersion {
        try reserve(registration.references, lease: lease)
        return try reading { (index) throws(StoreError) in
            try index.refuseTaken(registration)
            return try index.currentVersion()
        }
    }

    /// Protects what a version will name, whatever it names now: no collector deletes it while the lease lasts.
    package func reserve(
        _ references: References, lease: borrowing Lease
    ) throws(StoreError) {
        try reserve(count: references.count, { references[$0].address }, lease: lease)
    }

    /// Lends a transaction that records a version, and makes everything durable with it, in one step if possible.
    /// - Parameters:
    ///   - rows: about how many rows will change.
    ///   - syncsFirst: whether `body` begins with ``StoreTransaction/sync()``, which covers the announcement of the
    ///     change, too.
    ///   - indexVersion: the index version after the transaction; `nil` if there was none.
    package func recording<R>(
        rows: Int, syncsFirst: Bool, at indexVersion: inout IndexVersion?,
        _ body: (borrowing StoreTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var left: IndexVersion?
        defer { indexVersion = left }
        return try index { (index) throws(StoreError) in
            try index.write(rows: rows, syncsFirst: syncsFirst) { (index) throws(StoreError) -> R in
                left = try index.currentVersion()
                return try body(StoreTransaction(self, index))
            } syncing: { (index) throws(StoreError) in
                // Committed, as the next generation; making it durable may still fail.
                left?.generation += 1
                try self.syncAll(with: index)
            }
        }
    }

    /// Lends a transaction that replaces a version's manifest, durably by itself, and what the index says of it.
    package func revising<R>(
        _ body: (borrowing StoreTransaction) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try index { (index) throws(StoreError) in
            do throws(StoreError) {
                return try index.write { (index) throws(StoreError) -> R in
                    try body(StoreTransaction(self, index))
                }
            } catch {
                // The manifest may be the new one and the row the old: the next use compares them.
                index.isReconciled = false
                throw error
            }
        }
    }

    /// Takes back names that were given but not recorded, unless the version has been recorded elsewhere by now.
    /// - Parameters:
    ///   - indexVersion: that of ``recording(rows:syncsFirst:at:_:)``.
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

    /// Deletes a version's manifest and forgets the version, durably.
    ///
    /// Both inside one write transaction: a writer that records the same version sees both or none.
    /// - Parameters:
    ///   - references: how many objects it names.
    ///   - beside: removes what goes with it, while no version can be recorded; may run twice, and must not use the
    ///     index or wait for another process.
    package func forgetVersion(
        _ name: String, references: Int, beside: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        do throws(StoreError) {
            try forgetVersion(name, references: references, notingGarbage: true, beside)
        } catch {
            // On a completely full disk, the origin of the garbage is not worth a failure.
            guard error.code == .outOfSpace else { throw error }
            try forgetVersion(name, references: references, notingGarbage: false, beside)
        }
    }

    private func forgetVersion(
        _ name: String, references: Int, notingGarbage: Bool,
        _ beside: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try writing(rows: references) { (index) throws(StoreError) in
            // What may fail comes first: a version can be shown again without its tree, but not without its manifest.
            try beside()
            try self.fileSystem.removeIfPresent(
                self.directories.manifests.raw, StoreLayout.manifest(name))
            if let row = try index.version(name) {
                let edges = try index.edges(of: row.id)
                try index.removeVersion(id: row.id)
                if notingGarbage {
                    try index.noteGarbage(of: name, edges, at: secondsNow())
                }
            }
            try index.noteManifestsDirectory()
        } syncing: { (index) throws(StoreError) in
            try self.sync(self.directories.manifests.raw)
            try index.sync()
        }
    }
}
