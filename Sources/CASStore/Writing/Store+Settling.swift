// Recording a version: the last step before the promise.

/// What became of a version that a writer wanted to record.
package enum Settlement: Sendable {
    /// The version is registered. These versions have become complete by it.
    case settled(completed: [String])
    /// Its manifest was retired, or objects are gone that it relied on: look and write again.
    case lost
}

extension Store {
    /// Protects what a version will name: no collector deletes it while the lease lasts.
    ///
    /// - Returns: where the index stands. What it vouched for at the same moment before stays.
    /// - Throws: `.versionExists` when the name is taken by other content.
    package func claim(
        _ registration: Registration, lease: borrowing Lease
    ) throws(StoreError) -> IndexMoment {
        let references = registration.references
        try claim(count: references.count, { references[$0].address }, lease: lease)
        return try reading { (index, connection) throws(StoreError) in
            try Self.checkName(registration, index, connection)
            return try index.moment(connection)
        }
    }

    private static func checkName(
        _ registration: Registration, _ index: Index, _ connection: Connection
    ) throws(StoreError) {
        let name = registration.name
        if let known = try index.version(name, connection), known.content != registration.content,
            known.recovery == .none
        {
            throw StoreError.versionExists(name)
        }
        if let other = try index.nameInOtherCase(name, connection) {
            throw StoreError(
                .versionExists,
                "version \(name) differs from version \(other) in case only, and some file systems "
                    + "do not tell them apart; choose another name")
        }
    }

    /// Records a version and the objects that it brings, in one transaction.
    ///
    /// The objects' bytes are durable; this is the last step before the promise, and makes all else
    /// durable: before the names are given, and with the record.
    /// - Parameters:
    ///   - allowsMissing: register it although the store lacks objects of it.
    ///   - stored: what the writer knows of the object at a position of the manifest.
    ///   - cached: source files and what they contain, for the stat cache.
    ///   - publishing: gives manifest and tree their names, once, when what stands under them is
    ///     durable; must not use the index, nor wait for anybody who does. Returns the registration to
    ///     record, or `nil` if all must be repeated. By default they have their names.
    ///   - takingBack: takes those names away again, as far as this writer gave them. Called if the
    ///     version could not be recorded, while nobody else can record it, and only if nobody else has;
    ///     must not use the index.
    package func settle(
        _ registration: Registration, allowsMissing: Bool, stored: (Int) -> WriterKnowledge?,
        cached: some Sequence<(StatKey, ObjectID)>,
        publishing: (() throws(StoreError) -> Registration?)? = nil,
        takingBack: (() throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> Settlement {
        var registration = registration
        var isPublished = publishing == nil
        // Whether others could write since the manifest got its name.
        var isLate = isPublished
        var moment: IndexMoment?
        return try index { (index) throws(StoreError) in
            let prepare = { () throws(StoreError) in
                try self.syncAll()
                // The transaction may be repeated after the index was made again.
                guard let publishing, !isPublished else { return }
                guard let published = try publishing() else {
                    throw StoreError(.lost, "a name was taken meanwhile")
                }
                registration = published
                isPublished = true
            }
            do throws(StoreError) {
                return try index.write(
                    rows: registration.references.count * 2,
                    preparing: publishing == nil ? nil : prepare
                ) { (connection) throws(StoreError) -> Settlement in
                    moment = try index.moment(connection)
                    let mayBeAnother = isLate
                    isLate = true
                    try self.record(
                        registration, allowsMissing, stored, index, connection,
                        mayBeAnother: mayBeAnother)
                    try index.cache(cached, ordinal: registration.ordinal, connection)
                    try index.trimCache(
                        ordinal: registration.ordinal, files: registration.fileCount, connection)
                    try index.noteManifestsDirectory(connection)
                    return .settled(completed: try index.completeVersions(connection))
                } syncing: { (connection) throws(StoreError) in
                    // Committed, as the next generation; it may fail yet to become durable.
                    moment?.generation += 1
                    try self.syncAll(with: index, connection)
                }
            } catch {
                if error.code == .lost { return .lost }
                if isPublished, let takingBack {
                    // The error to report is the first; if this fails too, the version is whole and
                    // merely there.
                    try? self.takeBack(registration.name, since: moment, index, takingBack)
                }
                throw error
            }
        }
    }

    /// Takes back what was given names and not recorded, unless the version is registered by now.
    /// - Parameter body: must not use the index.
    package func takeBack(
        _ name: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try index { (index) throws(StoreError) in
            try self.takeBack(name, since: nil, index, body)
        }
    }

    /// - Parameter moment: where the transaction left the index that should have recorded it.
    private func takeBack(
        _ name: String, since moment: IndexMoment?, _ index: Index,
        _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        if let moment {
            try index.locks.lock(.writing)
            defer { index.locks.unlock() }
            // Nobody has written since, so nobody can rely on it. Without the index, which may be in
            // doubt, or have no room.
            let stamp = try index.readStamp()
            // None: the write of it was cut short, which was the last step of this very transaction.
            guard let stamp else { return try body() }
            if stamp.epoch == moment.epoch, stamp.settled <= moment.generation {
                return try body()
            }
        }
        try index.write { (connection) throws(StoreError) in
            guard try index.version(name, connection) == nil else { return }
            try body()
            try index.noteManifestsDirectory(connection)
        }
    }

    private func record(
        _ registration: Registration, _ allowsMissing: Bool, _ stored: (Int) -> WriterKnowledge?,
        _ index: Index, _ connection: Connection, mayBeAnother: Bool
    ) throws(StoreError) {
        let manifest = try fileSystem.status(
            directories.manifests.raw, StoreLayout.manifest(registration.name))
        guard let manifest else { throw StoreError(.lost, "the manifest was retired meanwhile") }
        try Self.checkName(registration, index, connection)
        if mayBeAnother, let file = registration.file,
            try !file.isSameFile(as: manifest, fileSystem)
        {
            throw StoreError(.lost, "the version was retired meanwhile, and added again")
        }
        let before = try index.version(registration.name, connection)
        // Registered before with the same content: recorded anew, as some objects may be back.
        if let before { try index.removeVersion(id: before.id, connection) }
        let (_, absent) = try index.insertVersion(registration, connection, stored: stored) {
            (address) throws(StoreError) in try self.objects.contains(address)
        }
        guard absent.isEmpty || allowsMissing else {
            throw StoreError(.lost, "objects are gone that the version relied on")
        }
        try index.noteManifest(registration.name, Index.identity(manifest), connection)
    }
}
