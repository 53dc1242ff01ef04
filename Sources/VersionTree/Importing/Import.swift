import CASStore

/// One add on its way: source files become staged objects, claimed, published, a tree, a manifest, a
/// registered version; in this order, so that after a crash anywhere the add can be repeated.
struct Import {
    let versions: VersionStore
    let root: Int32
    let version: VersionName
    let options: AddOptions
    var found: SourceFiles
    /// The state of the index that vouched for the stat cache.
    var moment: IndexMoment?

    private var store: Store { versions.store }

    mutating func run(_ lease: borrowing Lease) throws(StoreError) -> AddReport {
        let batch = try store.makeBatch(lease)
        let ordinal = try lookUp()
        try readKeeping(batch, lease, ordinal: ordinal)
        try found.refuseChangedDirectories(
            root, followingLinks: options.followsLinks, store.fileSystem.outside)
        let executables = try stageExecutableCopies(lease, canWait: true)
        if !executables.staged.isEmpty || found.marks.contains(where: \.isStaged) {
            try syncStaged(batch)
        }

        var manifest = try found.manifest(
            version: version, ordinal: ordinal, createdAt: options.createdAt ?? secondsNow(),
            extras: options.extras)
        manifest.foreign = options.foreign
        try manifest.validateForeign()
        let collisions = try versions.refuseCollisions(of: manifest)
        let writing = ManifestFile(versions, manifest, lease: lease.name)
        let registration = try writing.registration()

        do throws(StoreError) {
            try publish(registration, batch, lease)
        } catch {
            throw versions.explained(error, adding: manifest)
        }
        try executables.publish()
        var completed = try versions.record(manifest, writing, registration, found, lease)
        for _ in 0..<8 where completed == nil {
            // Only if the same version was retired meanwhile, or something was collected between the
            // look at it and the claim.
            moment = nil
            try publish(registration, batch, lease)
            let again = try stageExecutableCopies(lease, canWait: false)
            try store.syncAll()
            try again.publish()
            completed = try versions.record(manifest, writing, registration, found, lease)
        }
        guard let completed else { throw .alwaysRetired(version) }
        let new = dropStagedNames(batch)
        return AddReport(
            version: version.description, files: manifest.count, bytes: manifest.byteCount,
            newObjects: new.count, newBytes: new.bytes, collisions: collisions,
            healed: try versions.restoreTrees(of: completed, except: version.description),
            leftOut: found.leftOut, unwanted: found.unwanted)
    }

    // MARK: Steps

    /// Stages the executable copies of its files.
    ///
    /// - Parameter canWait: skip objects that were just collected; they are read again later.
    private func stageExecutableCopies(
        _ lease: borrowing Lease, canWait: Bool
    ) throws(StoreError) -> ExecutableCopyBatch {
        var executables = ExecutableCopyBatch(store, lease: lease)
        for file in found.records where file.isExecutable && file.byteCount > 0 {
            do throws(StoreError) {
                try executables.stage(file.address)
            } catch {
                guard canWait, error.code == .missingObject else { throw error }
            }
        }
        return executables
    }

    /// Queries the stat cache, and finds the version's ordinal.
    private mutating func lookUp() throws(StoreError) -> Int64 {
        found.learnMounts(store, root: root, followingLinks: options.followsLinks)
        guard options.usesCache else { return try store.nextOrdinal() }
        let (ordinal, renews, moment) = try store.lookUpSources(
            count: found.count, key: { found.key($0) },
            found: { found.records[$0].address = $1 })
        if renews {
            for position in 0..<found.count where found.records[position].address != .zero {
                found.marks[position].isCacheable = true
            }
        }
        self.moment = moment
        try distrustTouched()
        return ordinal
    }

    /// Forgets what the stat cache says of files whose objects were touched and are wrong: these are read, and the
    /// objects written anew.
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

    mutating func readFiles(_ batch: ObjectBatch) throws(StoreError) {
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
        let staged = found.stagedPositions
        try batch.syncStaged(staged.lazy.map { found.records[Int($0)].address })
    }

    /// Claims what the version needs and publishes what is staged.
    ///
    /// Nothing is believed unless the index vouches for it: objects that vanished or were never
    /// recorded are checked, or read from the source again.
    private mutating func publish(
        _ registration: Registration, _ batch: ObjectBatch, _ lease: borrowing Lease
    ) throws(StoreError) {
        let now = try store.claim(registration, lease: lease)
        // What was ensured before may have gone since.
        for position in 0..<found.count { found.marks[position].isEnsured = false }
        try publishStaged(batch)
        // At the moment of the look-up and now: nothing was collected in between.
        let isVouchedFor = now == moment
        let doubtful = found.distinctPositions {
            !found.marks[$0].isStaged && (found.marks[$0].isHashed || !isVouchedFor)
        }
        let records = found.records
        let addresses = doubtful.lazy.map { records[Int($0)].address }
        var unknown = Set(try store.unvouched(addresses))
        if moment == nil {
            // On the second try: the index may believe in files that are gone.
            for address in addresses where try !store.contains(address) { unknown.insert(address) }
        }
        guard !unknown.isEmpty else { return }
        // Applies to every file what files with the same content have ensured.
        var standing: [ObjectID: Fingerprint] = [:]
        for position in 0..<found.count where found.marks[position].isStaged {
            let address = found.records[position].address
            if unknown.remove(address) != nil {
                standing[address] = found.states[position].fingerprint
            }
        }
        var lacking: Set<ObjectID> = []
        var checker = try ObjectChecker()
        for address in unknown {
            // It stands without the index vouching for it: its writer died before it could record it.
            if let object = try store.objects.verified(address, checker: &checker),
                let fingerprint = object.fingerprint
            {
                standing[address] = fingerprint
            } else {
                lacking.insert(address)
            }
        }
        for position in 0..<found.count {
            guard let fingerprint = standing[found.records[position].address] else { continue }
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
        // Each of them says that it is staged; one per address is enough.
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

    private func dropStagedNames(_ batch: ObjectBatch) -> (count: Int, bytes: Int64) {
        var count = 0
        var bytes: Int64 = 0
        for position in 0..<found.count where found.marks[position].isStaged {
            // The version is recorded and the call has succeeded; a name that remains is swept with
            // the lease, or by the next writer.
            try? batch.dropStagedName(found.records[position].address)
            count += 1
            bytes += found.records[position].byteCount
        }
        return (count, bytes)
    }
}
