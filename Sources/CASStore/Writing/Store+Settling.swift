// Recording a version: the last step before the promise.

extension Store {
    /// Protects what a version will name: no collector deletes it while the lease lasts.
    ///
    /// - Returns: where the index stands. What it vouched for at this same moment stays.
    /// - Throws: `.versionExists` when the name is taken by other content.
    package func claim(
        _ registration: Registration, lease: borrowing Lease
    ) throws(StoreError) -> IndexMoment {
        let references = registration.references
        try claim(count: references.count, { references[$0].address }, lease: lease)
        return try reading { (index) throws(StoreError) in
            try Self.checkName(registration, index)
            return try index.moment()
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

    /// Records a version and the objects that it brings, in one transaction.
    ///
    /// The objects' bytes are durable; this is the last step before the promise, and makes
    /// everything else durable: before the names are given, and with the record.
    package func settle(_ version: some UnrecordedVersion) throws(StoreError) -> Settlement {
        var published: Registration?
        if version.makesRoom {
            try syncAll()
            do throws(StoreError) {
                published = try version.publish()
            } catch {
                // Report the first error.
                try? index { (index) throws(StoreError) in
                    try self.takeBack(version, since: nil, index)
                }
                throw error
            }
            guard published != nil else { return .lost }
        }
        return try index { (index) throws(StoreError) in
            try self.settle(version, published, index)
        }
    }

    /// - Parameter early: what to record of a version that already has its names.
    private func settle(
        _ version: some UnrecordedVersion, _ early: Registration?, _ index: Index
    ) throws(StoreError) -> Settlement {
        var published = early
        // Whether others could write since the manifest got its name.
        var isLate = early != nil
        var moment: IndexMoment?
        let prepare = { () throws(StoreError) in
            try self.syncAll()
            // After a rebuild of the index the transaction may run again.
            guard published == nil else { return }
            published = try version.publish()
            if published == nil { throw StoreError(.lost, "a name was taken meanwhile") }
        }
        do throws(StoreError) {
            return try index.write(
                rows: version.registration.references.count * 2,
                preparing: early == nil ? prepare : nil
            ) { (index) throws(StoreError) -> Settlement in
                moment = try index.moment()
                let registration = published ?? version.registration
                let mayBeAnother = isLate
                isLate = true
                try self.record(
                    registration, version, index, mayBeAnother: mayBeAnother)
                try index.cache(
                    version.sourceContents, ordinal: registration.ordinal)
                try index.trimCache(
                    ordinal: registration.ordinal, files: registration.fileCount)
                try index.noteManifestsDirectory()
                return .settled(completed: try index.completeVersions())
            } syncing: { (index) throws(StoreError) in
                // Committed, as the next generation; making it durable may still fail.
                moment?.generation += 1
                try self.syncAll(with: index)
            }
        } catch {
            if error.code == .lost { return .lost }
            if published != nil {
                // Report the first error; if this fails too, the version is whole and merely there.
                try? takeBack(version, since: moment, index)
            }
            throw error
        }
    }

    /// Takes back names that were given but not recorded, unless the version is registered by now.
    /// - Parameter moment: where the transaction left the index that should have recorded it.
    private func takeBack(
        _ version: some UnrecordedVersion, since moment: IndexMoment?, _ index: Index
    ) throws(StoreError) {
        if let moment {
            try index.locks.lock(.writing)
            defer { index.locks.unlock() }
            // Nobody has written since, so nobody can rely on it. Do this without the index, which
            // may be in doubt or have no room.
            let stamp = try index.readStamp()
            // No stamp: writing it, the last step of this very transaction, was cut short.
            guard let stamp else { return try version.takeBack() }
            if stamp.epoch == moment.epoch, stamp.settled <= moment.generation {
                return try version.takeBack()
            }
        }
        try index.write { (index) throws(StoreError) in
            guard try index.version(version.registration.name) == nil else { return }
            try version.takeBack()
            try index.noteManifestsDirectory()
        }
    }

    private func record(
        _ registration: Registration, _ version: some UnrecordedVersion, _ index: IndexTransaction,
        mayBeAnother: Bool
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
        let before = try index.version(registration.name)
        // Registered before with the same content: record it anew, because some objects may be back.
        if let before { try index.removeVersion(id: before.id) }
        let absent = try index.insertVersion(
            registration, stored: version.knowledge(ofObjectAt:)
        ) { (address) throws(StoreError) in try self.objects.contains(address) }
        guard absent.isEmpty || version.allowsMissing else {
            throw StoreError(.lost, "objects are gone that the version relied on")
        }
        try index.noteManifest(registration.name, Index.identity(manifest))
    }
}
