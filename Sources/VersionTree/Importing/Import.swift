import CASStore

/// One add in progress.
///
/// Source files are staged, reserved and published; then tree, manifest and the version's row follow. In this order an
/// add can be repeated after a crash at any point.
struct Import: ~Copyable {
    private let versions: VersionStore
    private let version: VersionName
    private let listing: DirectoryListing
    private var found: SourceFiles
    /// The index version at the time of the stat cache look-up.
    private var indexVersion: IndexVersion?

    private var store: Store { versions.store }
    private var root: Int32 { listing.root.raw }
    private var options: AddOptions { listing.options }

    init(
        _ versions: VersionStore, _ version: VersionName, _ listing: consuming DirectoryListing
    ) {
        self.versions = versions
        self.version = version
        // Moved, not copied: the import changes the files, and there may be a million.
        found = SourceFiles()
        swap(&found, &listing.files)
        self.listing = listing
    }

    mutating func run(_ lease: borrowing Lease) throws(StoreError) -> AddReport {
        let batch = try ObjectBatch(store, lease: lease)
        let ordinal = try lookUp()
        try readKeeping(batch, lease, ordinal: ordinal)
        try found.refuseChangedDirectories(
            root, followingLinks: options.followsLinks, store.fileSystem.outside)
        var executables = try stageExecutableCopies(lease, canWait: true)
        if !executables.staged.isEmpty || found.marks.contains(where: \.isStaged) {
            try syncStaged(batch)
        }

        var manifest = try found.manifest(
            version: version, ordinal: ordinal, createdAt: options.createdAt ?? secondsNow(),
            extras: options.extras)
        manifest.foreign = options.foreign
        try manifest.validateForeign()
        return try versions.finishAdding(manifest, lease) {
            (registration, isAgain) throws(StoreError) -> SourceFiles in
            if isAgain { indexVersion = nil }
            try publish(registration, batch, lease)
            if isAgain {
                executables = try stageExecutableCopies(lease, canWait: false)
                try store.syncAll()
            }
            try executables.publish()
            return found
        } ended: {
            dropStagedNames(batch)
        }
    }

    // MARK: Steps

    /// Stages executable copies of the files.
    /// - Parameter canWait: skip objects that were just collected; they are read again later.
    private func stageExecutableCopies(
        _ lease: borrowing Lease, canWait: Bool
    ) throws(StoreError) -> ExecutableCopyBatch {
        var executables = ExecutableCopyBatch(store, lease: lease)
        for file in found.records where file.isExecutable && file.byteCount > 0 {
            try allowing(
                { canWait && $0.code == .missingObject }, try executables.stage(file.address))
        }
        return executables
    }

    /// Queries the stat cache and determines the version's ordinal.
    private mutating func lookUp() throws(StoreError) -> Int64 {
        found.learnMounts(store, root: root, followingLinks: options.followsLinks)
        guard options.usesCache else { return try store.nextOrdinal() }
        let (ordinal, renews, indexVersion) = try store.lookUpSources(
            count: found.count, key: { found.key($0) },
            found: { found.records[$0].address = $1 })
        if renews {
            for position in 0..<found.count where found.records[position].address != .zero {
                found.marks[position].isCacheable = true
            }
        }
        self.indexVersion = indexVersion
        try distrustTouched()
        return ordinal
    }

    /// Drops stat cache entries of files with damaged objects, so that these files are read and written anew.
    private mutating func distrustTouched() throws(StoreError) {
        let known = found.distinctPositions {
            found.records[$0].address != .zero && found.records[$0].byteCount > 0
        }
        let wrong = try store.wrong(among: known.map { found.records[Int($0)].address })
        guard !wrong.isEmpty else { return }
        for position in 0..<found.count where wrong.contains(found.records[position].address) {
            found.records[position].address = .zero
        }
    }

    /// Reads the files; on interruption, keeps what was read, as unreferenced objects and in the stat cache.
    private mutating func readKeeping(
        _ batch: ObjectBatch, _ lease: borrowing Lease, ordinal: Int64
    ) throws(StoreError) {
        do throws(StoreError) {
            try readFiles(batch)
        } catch {
            if error.code == .interrupted {
                // Report the first error. What cannot be kept will be read again.
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
        // Not to be interrupted again: this is how the add stops.
        try store.uninterrupted { () throws(StoreError) in
            try store.keepStaged(
                staged, of: batch, lease: lease, cached: found.cacheable, ordinal: ordinal)
            try self.versions.rebuildHealedTrees()
        }
    }

    private mutating func readFiles(_ batch: ObjectBatch) throws(StoreError) {
        let positions = found.positions { found.records[$0].address == .zero }
        let bytes = positions.reduce(Int64(0)) { $0 + found.records[Int($1)].byteCount }
        let progress = options.progress
        let reading = SourceReading(
            store: store, root: root, batch: batch, followsLinks: options.followsLinks
        ) { (files, done) in
            progress(
                AddProgress(
                    files: files, filesTotal: positions.count, bytes: done, bytesTotal: bytes))
        }
        try reading.read(positions, of: &found)
    }

    private func syncStaged(_ batch: ObjectBatch) throws(StoreError) {
        let (records, staged) = (found.records, found.stagedPositions)
        try batch.syncStaged(staged.lazy.map { records[Int($0)].address })
    }

    /// Reserves what the version needs and publishes what is staged.
    ///
    /// Objects that the index does not prove are checked, or read from the source again.
    private mutating func publish(
        _ registration: Registration, _ batch: ObjectBatch, _ lease: borrowing Lease
    ) throws(StoreError) {
        let now = try store.reserve(registration, lease: lease)
        // What was ensured before may have gone since.
        for position in 0..<found.count { found.marks[position].isEnsured = false }
        try publishStaged(batch)
        // The index version is the one of the look-up: nothing was collected in between.
        let isConfirmed = now == indexVersion
        let doubtful = found.distinctPositions {
            !found.marks[$0].isStaged && (found.marks[$0].isHashed || !isConfirmed)
        }
        let records = found.records
        let addresses = doubtful.lazy.map { records[Int($0)].address }
        var unknown = Set(try store.unproven(addresses))
        if indexVersion == nil {
            // On the second try: the index may list files that are gone.
            for address in addresses where try !store.contains(address) { unknown.insert(address) }
        }
        guard !unknown.isEmpty else { return }
        // Marks all files whose content is ensured by another file.
        var existing: [ObjectID: Fingerprint] = [:]
        for position in 0..<found.count where found.marks[position].isStaged {
            let address = found.records[position].address
            if unknown.remove(address) != nil {
                existing[address] = found.states[position].fingerprint
            }
        }
        var lacking: Set<ObjectID> = []
        var checker = try ObjectChecker()
        for address in unknown {
            // Its writer died after publishing it and before recording it.
            if let object = try store.objects.verified(address, checker: &checker),
                let fingerprint = object.fingerprint
            {
                existing[address] = fingerprint
            } else {
                lacking.insert(address)
            }
        }
        for position in 0..<found.count {
            guard let fingerprint = existing[found.records[position].address] else { continue }
            found.states[position].fingerprint = fingerprint
            found.marks[position].isHashed = true
            found.marks[position].isEnsured = true
        }
        if !lacking.isEmpty { try readAgain(lacking, batch) }
    }

    private mutating func readAgain(
        _ lacking: Set<ObjectID>, _ batch: ObjectBatch
    ) throws(StoreError) {
        let positions = found.positions { lacking.contains(found.records[$0].address) }
        let before = found.records
        let reading = SourceReading(
            store: store, root: root, batch: batch, followsLinks: options.followsLinks
        ) { _, _ in }
        try reading.read(positions, of: &found, again: true)
        for position in positions
        where before[Int(position)].address != found.records[Int(position)].address {
            throw StoreError(
                .changedWhileRead,
                "\"\(printable(found.path(Int(position))))\" has changed since it was first read; "
                    + "repeat the command")
        }
        // All files with this content are marked staged; keep one per address.
        var seen: Set<ObjectID> = []
        for position in positions.map({ Int($0) }) where found.marks[position].isStaged {
            if !seen.insert(found.records[position].address).inserted {
                found.marks[position].isStaged = false
                found.marks[position].isEnsured = true
            }
        }
        try syncStaged(batch)
        try publishStaged(batch)
    }

    private func publishStaged(_ batch: ObjectBatch) throws(StoreError) {
        let (records, positions) = (found.records, found.stagedPositions)
        try batch.publish(count: positions.count) { records[Int(positions[$0])].address }
    }

    private func dropStagedNames(_ batch: ObjectBatch) -> RecordedObjects {
        var new = RecordedObjects()
        for position in 0..<found.count where found.marks[position].isStaged {
            // The version is recorded; a remaining name is swept with the lease, or by the next writer.
            try? batch.dropStagedName(found.records[position].address)
            new.count += 1
            new.byteCount += found.records[position].byteCount
        }
        return new
    }
}
