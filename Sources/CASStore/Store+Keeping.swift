// What stays alive: versions, and the claims of running writers.

extension StoreError.Code {
    /// A version of that name is registered with other content.
    public static let versionExists = Self("versionExists")
    /// There is no such version.
    public static let noVersion = Self("noVersion")
}

extension StoreError {
    /// The error of a name that is taken.
    package static func versionExists(_ name: String) -> StoreError {
        StoreError(
            .versionExists,
            "version \(name) exists with other content; choose another name, or retire it first")
    }
}

/// What became of a claim that a writer wanted to settle.
package enum Settlement: Sendable {
    /// The version is registered. These versions have become complete by it.
    case settled(completed: [String])
    /// The index was rebuilt meanwhile and the claim with it, or the manifest was retired: claim and
    /// write again.
    case lost
}

extension Store {
    /// Protects what a version will name, before its content is published: the collector leaves it
    /// alone from here on, until the claim is settled or its lease ends.
    ///
    /// - Returns: the claim, and the positions of the references that the store lacks.
    /// - Throws: `.versionExists` when the name is taken by other content.
    package func claim(
        _ registration: Registration, lease: borrowing Lease
    ) throws(StoreError) -> (claim: Int64, absent: [UInt32]) {
        let holder = lease.name
        return try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) -> (claim: Int64, absent: [UInt32]) in
                try Self.checkName(registration, index, connection)
                let (id, absent) = try index.insertVersion(
                    registration, lease: holder, connection
                ) { (address) throws(StoreError) in try self.objects.contains(address) }
                return (claim: id, absent: absent)
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

    /// Records published objects and turns a claim into the registered version, in one transaction.
    ///
    /// The objects, the tree and the manifest are durable; this is the last step before the promise.
    /// - Parameter cached: source files and what they contain, for the stat cache.
    package func settle(
        _ claim: Int64, _ registration: Registration, published: some Sequence<StoredObject>,
        cached: some Sequence<(StatKey, ObjectID)>, lease: borrowing Lease
    ) throws(StoreError) -> Settlement {
        let holder = lease.name
        return try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) -> Settlement in
                let manifest = try self.fileSystem.status(
                    self.directories.manifests.raw, StoreLayout.manifest(registration.name))
                guard let manifest, try index.hasClaim(claim, lease: holder, connection) else {
                    return .lost
                }
                for object in published { try index.setPresent(object, connection) }
                for (key, address) in cached {
                    try index.cache(key, address, ordinal: registration.ordinal, connection)
                }
                try index.trimCache(ordinal: registration.ordinal, connection)
                try index.settleClaim(claim, registration, connection)
                try index.noteManifest(
                    registration.name, Index.identity(manifest), connection)
                try index.noteManifestsDirectory(connection)
                return .settled(completed: try index.completeVersions(connection))
            }
        }
    }

    /// Deletes a version's manifest and forgets the version, durably.
    ///
    /// Both inside one write transaction: a writer that settles the same version sees both or none.
    package func forgetVersion(_ name: String) throws(StoreError) {
        try index { (index) throws(StoreError) in
            try index.write { (connection) throws(StoreError) in
                try self.fileSystem.removeIfPresent(
                    self.directories.manifests.raw, StoreLayout.manifest(name))
                try self.sync(self.directories.manifests.raw)
                if let row = try index.version(name, connection) {
                    try index.removeVersion(id: row.id, connection)
                }
                try index.noteManifestsDirectory(connection)
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

    /// Looks source files up in the stat cache; `nil` where the file must be read.
    package func cachedAddresses(
        count: Int, ordinal: Int64, key: (Int) -> StatKey?
    ) throws(StoreError) -> (addresses: [ObjectID?], renews: Bool) {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                var result: [ObjectID?] = []
                result.reserveCapacity(count)
                for position in 0..<count {
                    guard let key = key(position) else {
                        result.append(nil)
                        continue
                    }
                    result.append(try index.cachedAddress(key, connection))
                }
                return (result, index.renewsCache(ordinal: ordinal))
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

    /// Objects staged together.
    package func makeBatch(_ lease: borrowing Lease) throws(StoreError) -> ObjectBatch {
        try ObjectBatch(self, lease: lease.name)
    }
}
