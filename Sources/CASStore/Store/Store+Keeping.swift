// What stays alive: versions, and the claims of running writers.

extension StoreError.Code {
    /// A version of that name is registered with other content.
    public static let versionExists = Self("versionExists")
    /// There is no such version.
    public static let noVersion = Self("noVersion")
}

extension StoreError.Code {
    /// Ends a transaction whose ground has moved; never leaves the package.
    package static let lost = Self("lost")
}

extension StoreError {
    /// What to say of a manifest whose bytes are not those that were registered.
    package static func editedManifest(_ name: String) -> String {
        "the manifest of version \(name) is not the one that was registered: put that back from a copy, "
            + "add the same content again, which is enough if an add was cut short, or retire the "
            + "version and add or pull it again; if what it says now is right, delete the store's "
            + "index, which is then made from what is there"
    }

    /// The error of a name that no version has.
    package static func noVersion(_ name: String) -> StoreError {
        StoreError(
            .noVersion, "there is no version \"\(printable(name))\"; castree versions lists them")
    }

    /// The error of a name that is taken.
    package static func versionExists(_ name: String) -> StoreError {
        StoreError(
            .versionExists,
            "version \(name) exists with other content; choose another name, or retire it first")
    }
}

/// What became of a version that a writer wanted to record.
package enum Settlement: Sendable {
    /// The version is registered. These versions have become complete by it.
    case settled(completed: [String])
    /// Its manifest was retired, or objects are gone that it relied on: look and write again.
    case lost
}

/// Where the index stood when a writer looked something up.
package struct IndexMoment: Sendable, Hashable {
    var epoch: String
    var generation: Int64
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

    /// The addresses among `addresses` that the index does not know as present, sorted.
    package func unvouched(
        _ addresses: some Sequence<ObjectID>
    ) throws(StoreError) -> [ObjectID] {
        let addresses = addresses.sorted()
        guard !addresses.isEmpty else { return [] }
        return try reading { (index, connection) throws(StoreError) in
            var result: [ObjectID] = []
            var objects = try ObjectCursor(connection)
            defer { objects.end() }
            // In the index's own order each of its pages is read once, whatever the cache holds.
            for address in addresses
            where try objects.find(address)?.state != .present {
                result.append(address)
            }
            return result
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

    /// Deletes a version's manifest and forgets the version, durably.
    ///
    /// Both inside one write transaction: a writer that settles the same version sees both or none.
    /// - Parameters:
    ///   - references: how many objects it names.
    ///   - beside: what goes with it, while nobody settles a version; may be done twice, and must neither
    ///     use the index nor wait for anybody.
    package func forgetVersion(
        _ name: String, references: Int, beside: () throws(StoreError) -> Void = {}
    ) throws(StoreError) {
        do throws(StoreError) {
            try forgetVersion(name, references: references, notingGarbage: true, beside)
        } catch {
            // Whose the garbage was is worth no failure on a disk without any room.
            guard error.code == .outOfSpace else { throw error }
            try forgetVersion(name, references: references, notingGarbage: false, beside)
        }
    }

    private func forgetVersion(
        _ name: String, references: Int, notingGarbage: Bool,
        _ beside: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try index { (index) throws(StoreError) in
            try index.write(rows: references) { (connection) throws(StoreError) in
                // First what may fail: a version without its tree can be shown again, one without its manifest cannot.
                try beside()
                try self.fileSystem.removeIfPresent(
                    self.directories.manifests.raw, StoreLayout.manifest(name))
                if let row = try index.version(name, connection) {
                    let edges = try index.edges(of: row.id, connection)
                    try index.removeVersion(id: row.id, connection)
                    if notingGarbage {
                        try index.noteGarbage(of: name, edges, at: secondsNow(), connection)
                    }
                }
                try index.noteManifestsDirectory(connection)
            } syncing: { (connection) throws(StoreError) in
                try self.sync(self.directories.manifests.raw)
                try index.sync(connection)
            }
        }
    }

    /// Returns when every transaction that changes something now has ended.
    package func waitForWriters() throws(StoreError) {
        try index { (index) throws(StoreError) in try index.locks.waitForWriters() }
    }

    /// The registered versions, newest first, each with what it lacks.
    package func versionRows() throws(StoreError) -> [(row: VersionRow, missing: Int)] {
        try reading { (index, connection) throws(StoreError) in
            var result: [(row: VersionRow, missing: Int)] = []
            for row in try index.versions(connection) {
                let missing =
                    row.isComplete ? 0 : try index.missing(from: row.id, connection).count
                result.append((row, missing))
            }
            return result
        }
    }

    /// A registered version.
    package func versionRow(_ name: String) throws(StoreError) -> VersionRow? {
        try reading { (index, connection) throws(StoreError) in
            try index.version(name, connection)
        }
    }

    /// What a version names and the store lacks: what is still to be downloaded.
    package func missingObjects(of name: String) throws(StoreError) -> [MissingObject]? {
        try reading { (index, connection) throws(StoreError) in
            guard let row = try index.version(name, connection) else { return nil }
            return try index.missing(from: row.id, connection)
        }
    }

    /// The names of the manifest files, sorted, whatever they hold.
    package func manifestNames() throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in try index.manifestFiles().map(\.name) }
    }

    /// How many objects a version names.
    package func referenceCount(of name: String) throws(StoreError) -> Int {
        try reading { (index, connection) throws(StoreError) in
            guard let row = try index.version(name, connection) else { return 0 }
            return Int(try index.edges(of: row.id, connection).count)
        }
    }

    /// The ordinal that a new version gets.
    package func nextOrdinal() throws(StoreError) -> Int64 {
        try reading { (index, connection) throws(StoreError) in
            try index.nextOrdinal(connection)
        }
    }

    /// Looks source files up in the stat cache and calls `found` for those whose content is known and
    /// stored; the others, and those without a key, must be read.
    ///
    /// - Returns: the ordinal that a new version gets, whether hits should be renewed by it, and the
    ///   moment at which the index vouched for them.
    package func lookUpSources(
        count: Int, key: (Int) -> StatKey?, found: (Int, ObjectID) -> Void
    ) throws(StoreError) -> (ordinal: Int64, renews: Bool, moment: IndexMoment) {
        try reading { (index, connection) throws(StoreError) in
            try index.cachedAddresses(count: count, key, connection, found: found)
            let ordinal = try index.nextOrdinal(connection)
            let renews = index.renewsCache(ordinal: ordinal)
            return (ordinal, renews, try index.moment(connection))
        }
    }

    /// Notes that an object is on disk, verified and durable.
    package func recordPresent(_ published: [StoredObject]) throws(StoreError) -> [String] {
        try writing { (index, connection) throws(StoreError) in
            for object in published { try index.setPresent(object, connection) }
            return try index.completeVersions(connection)
        }
    }

    /// Notes that objects are on disk, verified and durable but for their names: makes those durable too.
    func recordPublished(_ published: [StoredObject]) throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) in
                for object in published { try index.setPresent(object, connection) }
                return try index.completeVersions(connection)
            } syncing: { (connection) throws(StoreError) in
                try self.syncAll(with: index, connection)
            }
        }
    }

    /// Objects staged together.
    package func makeBatch(_ lease: borrowing Lease) throws(StoreError) -> ObjectBatch {
        try ObjectBatch(self, lease: lease.name)
    }
}
