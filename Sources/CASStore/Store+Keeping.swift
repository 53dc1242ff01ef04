// What stays alive: versions, and the claims of running writers.

extension StoreError.Code {
    /// A version of that name is registered with other content.
    public static let versionExists = Self("versionExists")
    /// There is no such version.
    public static let noVersion = Self("noVersion")
}

extension StoreError.Code {
    /// Ends a transaction whose ground has moved; never leaves the module.
    fileprivate static let lost = Self("lost")
}

extension StoreError {
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
        return try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try Self.checkName(registration, index, connection)
                return try index.moment(connection)
            }
        }
    }

    /// The addresses among `addresses` that the index does not know as present, sorted.
    package func unvouched(
        _ addresses: some Sequence<ObjectID>
    ) throws(StoreError) -> [ObjectID] {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                var result: [ObjectID] = []
                var objects = try ObjectCursor(connection)
                defer { objects.end() }
                // In the index's own order each of its pages is read once, whatever the cache holds.
                for address in addresses.sorted()
                where try objects.find(address)?.state != .present {
                    result.append(address)
                }
                return result
            }
        }
    }

    private static func checkName(
        _ registration: Registration, _ index: Index, _ connection: Connection
    ) throws(StoreError) {
        let name = registration.name
        if let known = try index.version(name, connection), known.content != registration.content {
            throw StoreError.versionExists(name)
        }
        if let twin = try index.nameTwin(name, connection) {
            throw StoreError(
                .versionExists,
                "version \(name) differs from version \(twin) in case only, and some file systems "
                    + "do not tell them apart; choose another name")
        }
    }

    /// Records a version and the objects that it brings, in one transaction.
    ///
    /// The objects are durable, and the tree and the manifest but for their names; this is the last
    /// step before the promise, and makes all durable.
    /// - Parameters:
    ///   - allowsMissing: register it although the store lacks objects of it.
    ///   - stored: the fingerprint of the object at a position of the manifest, if the writer has
    ///     made sure that it stands in `objects/`.
    ///   - cached: source files and what they contain, for the stat cache.
    package func settle(
        _ registration: Registration, allowsMissing: Bool, stored: (Int) -> Fingerprint?,
        cached: some Sequence<(StatKey, ObjectID)>
    ) throws(StoreError) -> Settlement {
        try index { (index) throws(StoreError) in
            do throws(StoreError) {
                return try index.write { (connection) throws(StoreError) -> Settlement in
                    try self.record(registration, allowsMissing, stored, index, connection)
                    for (key, address) in cached {
                        try index.cache(key, address, ordinal: registration.ordinal, connection)
                    }
                    try index.trimCache(ordinal: registration.ordinal, connection)
                    try index.noteManifestsDirectory(connection)
                    return .settled(completed: try index.completeVersions(connection))
                } syncing: { (connection) throws(StoreError) in
                    try self.syncAll(with: index, connection)
                }
            } catch {
                guard error.code == .lost else { throw error }
                return .lost
            }
        }
    }

    private func record(
        _ registration: Registration, _ allowsMissing: Bool, _ stored: (Int) -> Fingerprint?,
        _ index: Index, _ connection: Connection
    ) throws(StoreError) {
        let manifest = try fileSystem.status(
            directories.manifests.raw, StoreLayout.manifest(registration.name))
        guard let manifest else { throw StoreError(.lost, "the manifest was retired meanwhile") }
        try Self.checkName(registration, index, connection)
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
    package func forgetVersion(_ name: String) throws(StoreError) {
        try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) in
                try self.fileSystem.removeIfPresent(
                    self.directories.manifests.raw, StoreLayout.manifest(name))
                if let row = try index.version(name, connection) {
                    try index.removeVersion(id: row.id, connection)
                }
                try index.noteManifestsDirectory(connection)
            } syncing: { (connection) throws(StoreError) in
                try self.sync(self.directories.manifests.raw)
                try index.sync(connection)
            }
        }
    }

    /// The registered versions, newest first, each with what it lacks.
    package func versionRows() throws(StoreError) -> [(row: VersionRow, missing: Int)] {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                var result: [(row: VersionRow, missing: Int)] = []
                for row in try index.versions(connection) {
                    let missing =
                        row.isComplete ? 0 : try index.missing(from: row.id, connection).count
                    result.append((row, missing))
                }
                return result
            }
        }
    }

    /// A registered version.
    package func versionRow(_ name: String) throws(StoreError) -> VersionRow? {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.version(name, connection)
            }
        }
    }

    /// What a version names and the store lacks: what is still to be downloaded.
    package func missingObjects(of name: String) throws(StoreError) -> [MissingObject]? {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                guard let row = try index.version(name, connection) else { return nil }
                return try index.missing(from: row.id, connection)
            }
        }
    }

    /// The names of the manifest files, sorted, whatever they hold.
    package func manifestNames() throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in try index.manifestFiles().map(\.name) }
    }

    /// The registered versions, newest first, each with the bytes of its distinct objects.
    package func versionSizes() throws(StoreError) -> [(row: VersionRow, distinct: Int64)] {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                var result: [(row: VersionRow, distinct: Int64)] = []
                for row in try index.versions(connection) {
                    result.append((row, try index.distinctBytes(of: row.id, connection)))
                }
                return result
            }
        }
    }

    /// How many objects a version names.
    package func referenceCount(of name: String) throws(StoreError) -> Int {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                guard let row = try index.version(name, connection) else { return 0 }
                return Int(try index.edges(of: row.id, connection).count)
            }
        }
    }

    /// The ordinal that a new version gets.
    package func nextOrdinal() throws(StoreError) -> Int64 {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.nextOrdinal(connection)
            }
        }
    }

    /// Looks source files up in the stat cache and calls `found` for those whose content is known and
    /// stored; the others must be read.
    ///
    /// - Returns: whether hits should be renewed, and the moment at which the index vouched for them.
    package func lookUpSources(
        count: Int, ordinal: Int64, key: (Int) -> StatKey, found: (Int, ObjectID) -> Void
    ) throws(StoreError) -> (renews: Bool, moment: IndexMoment) {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.cachedAddresses(count: count, key, connection, found: found)
                return (index.renewsCache(ordinal: ordinal), try index.moment(connection))
            }
        }
    }

    /// Notes that an object is on disk, verified and durable.
    package func recordPresent(_ published: [StoredObject]) throws(StoreError) -> [String] {
        try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) in
                for object in published { try index.setPresent(object, connection) }
                return try index.completeVersions(connection)
            }
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
