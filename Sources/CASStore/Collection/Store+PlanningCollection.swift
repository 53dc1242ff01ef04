// Plans a collection without changing anything.

extension Store {
    /// Decides what to collect, including leftovers of dead writers, without changing anything.
    /// - Parameter names: versions to retire first, in this order; names that are not registered are ignored.
    /// - Throws: `.index` while a manifest cannot be read; what reading the index throws.
    public func planCollection(
        retiring names: [String] = []
    ) throws(StoreError) -> CollectionPlan {
        var plan = CollectionPlan()
        let unit = try allocationUnit()
        let leases = try leases()
        let reserved = try reservedAddresses(by: leases.running)
        // What was staged without a lease and has been published.
        var unrecorded = try examined(publishedNames(in: directories.staging.raw)).sound
        for name in leases.dead {
            try passingOver("\(StoreLayout.staging)/\(name)") { () throws(StoreError) in
                unrecorded += try self.published(by: name).sound
            }
        }
        let garbage = try garbage(afterRecording: unrecorded, names)
        plan.objects = garbage.filter { !reserved.contains($0.address) }
        plan.quarantined = try leftovers(
            in: directories.quarantine.raw, .damaged, addressOf: StoreLayout.quarantinedAddress
        ) { _ in true }
        plan.staged = try unwantedPartials(removing: false)
        for index in plan.objects.indices {
            let garbage = plan.objects[index]
            plan.objects[index].diskByteCount = unit.diskBytes(garbage.byteCount)
            // Retiring a version removes its executable copies first.
            if case .retiring = garbage.reason { continue }
            let copy = try objects.status(garbage.address, executable: true)
            plan.objects[index].diskByteCount += (copy?.blocks ?? 0) * 512
        }
        plan.packing = try unusedPacking()
        return plan
    }

    /// For each version, the bytes of its objects that no other version names once those before it are retired.
    ///
    /// Costs what these versions name.
    /// - Returns: these bytes in the order of `names`, 0 for unregistered ones, and those of all objects on disk that
    ///   versions name now.
    package func bytesFreed(
        retiring names: [String]
    ) throws(StoreError) -> (freed: [Int64], total: Int64) {
        try reading { (index) throws(StoreError) in
            var freed = [Int64](repeating: 0, count: names.count)
            let known = try index.ids(of: names)
            try index.orphans(retiring: known.map(\.id)) {
                (_, byteCount, position) in freed[known[position].position] += byteCount
            }
            return (freed, try index.referencedBytes())
        }
    }

    /// The objects on disk that no version names once the given ones are retired; costs what these versions name.
    /// - Returns: the rows of the versions, newest first, the objects that would be freed, and their bytes.
    /// - Throws: `.noVersion` for a name that is not registered.
    package func freed(
        retiring names: [String]
    ) throws(StoreError) -> (rows: [VersionRow], objects: [ObjectID], bytes: Int64) {
        try reading { (index) throws(StoreError) in
            var rows: [VersionRow] = []
            // Version names are ASCII.
            for name in names where !rows.contains(where: { $0.name == name }) {
                guard let row = try index.version(name) else {
                    throw StoreError.noVersion(name)
                }
                rows.append(row)
            }
            rows.sort { ($0.ordinal, $0.name) > ($1.ordinal, $1.name) }
            var freed: (objects: [ObjectID], bytes: Int64) = ([], 0)
            try index.orphans(retiring: rows.map(\.id)) { (address, byteCount, _) in
                freed.objects.append(address)
                freed.bytes += byteCount
            }
            return (rows, freed.objects, freed.bytes)
        }
    }

    /// The garbage that a collection finds after recovering dead writers' leftovers, which is tried and rolled back.
    private func garbage(
        afterRecording unrecorded: [StoredObject], _ retiring: [String]
    ) throws(StoreError) -> [CollectionPlan.Garbage] {
        var found: [CollectionPlan.Garbage] = []
        var damaged: [String] = []
        do throws(StoreError) {
            try writing { (index) throws(StoreError) in
                for object in unrecorded { try index.setPresent(object) }
                damaged = try index.reconcile(thoroughly: true)
                found = try index.presentGarbage(retiring)
                throw StoreError(.takenBack, "a plan changes nothing")
            }
        } catch {
            // If nothing can be written, nothing can be recovered either.
            if [.readOnly, .permission, .outOfSpace].contains(error.code) {
                return try reading { (index) throws(StoreError) in
                    try index.presentGarbage(retiring)
                }
            }
            guard error.code == .takenBack else { throw error }
        }
        try Self.refuse(damaged)
        return found
    }
}

extension StoreError.Code {
    /// Rolls back a transaction that was only for looking; never leaves this file.
    fileprivate static let takenBack = Self("takenBack")
}

extension IndexTransaction {
    /// The objects on disk that no version names, or none would name after the retiring.
    fileprivate func presentGarbage(
        _ retiring: [String]
    ) throws(StoreError) -> [CollectionPlan.Garbage] {
        var found: [CollectionPlan.Garbage] = []
        try forEachGarbage { (row, origin) in
            found.append(
                .init(
                    address: row.address, byteCount: row.byteCount,
                    reason: origin.map { .retired($0) } ?? .neverNamed))
        }
        guard !retiring.isEmpty else { return found }
        let known = try ids(of: retiring)
        try orphans(retiring: known.map(\.id)) { (address, byteCount, position) in
            let version = retiring[known[position].position]
            found.append(
                .init(
                    address: address, byteCount: byteCount, reason: .retiring(version: version)))
        }
        return found
    }

    fileprivate func ids(of names: [String]) throws(StoreError) -> [(id: Int64, position: Int)] {
        var known: [(id: Int64, position: Int)] = []
        for (position, name) in names.enumerated() {
            if let row = try version(name) { known.append((row.id, position)) }
        }
        return known
    }
}

/// What a collection would delete, and why, decided without changing anything.
public struct CollectionPlan: Sendable {
    package enum Reason: Sendable, Hashable {
        /// No version has named it since this one was retired.
        case retired(RetiredVersion)
        /// No version would name it once this one is retired.
        case retiring(version: String)
        /// No version is known to name or have named it: a writer did not finish, or the index was rebuilt since.
        case neverNamed
        case damaged
        /// It is a part of an object, and no version waits for the rest.
        case partial
    }

    package struct Garbage: Sendable, Hashable {
        package let address: ObjectID
        package let byteCount: Int64
        package let reason: Reason
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// Cached parts of packs for buckets that have not been used for a month.
    package struct Packing: Sendable, Hashable {
        /// How many buckets they were for.
        package internal(set) var places = 0
        package internal(set) var byteCount: Int64 = 0
        /// The disk usage of the files and their directories, in bytes.
        package internal(set) var diskByteCount: Int64 = 0
    }

    /// The objects that no version and no running writer references.
    package var objects: [Garbage] = []
    package internal(set) var quarantined: [Garbage] = []
    /// Partial objects that no version waits for.
    package internal(set) var staged: [Garbage] = []
    /// Caches that go as well; counted only in ``diskByteCount``, not in the other sums.
    package internal(set) var packing = Packing()

    /// The number of files to delete.
    public var objectCount: Int { objects.count + quarantined.count + staged.count }
    /// The total size of those files.
    ///
    /// Space is freed only when the last tree that shows a file is gone, too.
    public var byteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(0) { $0 + $1.byteCount }
    }
    /// The disk usage of everything that is deleted, in bytes; objects count with rounded sizes.
    package var diskByteCount: Int64 {
        [objects, quarantined, staged].joined().reduce(packing.diskByteCount) {
            $0 + $1.diskByteCount
        }
    }
}

/// The result of a collection.
public struct Collected: Sendable, Hashable {
    /// The number of deleted files.
    public internal(set) var objectCount = 0
    /// Their total size.
    public internal(set) var byteCount: Int64 = 0
    package internal(set) var packing = CollectionPlan.Packing()
    package internal(set) var diskByteCount: Int64 = 0
}

// Cached parts of packs for buckets that are no longer used.

extension Store {
    static let packingAgeMax: Int64 = 30 * 86_400

    func unusedPacking() throws(StoreError) -> CollectionPlan.Packing {
        var found = CollectionPlan.Packing()
        // Read access suffices, also where nothing can be written.
        try eachUnusedPacking(locking: .reading) { (_, _, measure) throws(StoreError) in
            found.count(measure)
        }
        return found
    }

    /// Deletes and counts unused caches, for buckets that this store has not published to for a month.
    func removeUnusedPacking(_ removed: inout CollectionPlan.Packing) throws(StoreError) {
        try eachUnusedPacking(locking: .changing) { (packing, name, measure) throws(StoreError) in
            try self.fileSystem.removeTree(packing, name)
            removed.count(measure)
        }
    }

    /// Calls `body` with the parent directory, name and size of each unused cache, which stays locked meanwhile.
    private func eachUnusedPacking(
        locking access: Access,
        _ body: (Int32, String, TreeMeasure) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard
            let packing = try fileSystem.openIfPresent(
                directories.root.raw, StoreLayout.packing, .directory)
        else { return }
        let bound = secondsNow() - Self.packingAgeMax
        for name in try fileSystem.names(in: packing.raw) where StoreLayout.isPackingPlace(name) {
            // Every use creates a directory here, and removes it.
            var measure = TreeMeasure()
            guard let place = try fileSystem.openIfPresent(packing.raw, name, .directory),
                try fileSystem.status(place.raw).modifiedAt < bound * 1_000_000_000,
                // What cannot be read belongs to another user, who alone can delete it.
                try allowing(
                    { $0.code == .permission }, try measure.add(packing.raw, name, in: self)) != nil
            else { continue }
            guard
                let lock = try fileSystem.openIfPresent(place.raw, StoreLayout.packingLock, access)
            else {
                try body(packing.raw, name, measure)
                continue
            }
            guard try fileSystem.lock(lock.raw, exclusive: true) else { continue }
            defer { fileSystem.unlock(lock.raw) }
            try body(packing.raw, name, measure)
        }
    }
}

extension CollectionPlan.Packing {
    fileprivate mutating func count(_ measure: TreeMeasure) {
        places += 1
        byteCount += measure.apparentBytes
        diskByteCount += measure.copyBytes
    }
}
