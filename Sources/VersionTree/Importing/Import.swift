import CASStore

/// One add on its way: source files become staged objects, a claim, published objects, a tree, a
/// manifest, a registered version; in this order, so that a crash anywhere leaves what can be
/// repeated.
struct Import {
    let versions: VersionStore
    let root: Int32
    let version: VersionName
    let options: AddOptions
    var found: SourceFiles
    private var cachedCount = 0

    init(
        _ versions: VersionStore, _ found: SourceFiles, root: Int32, version: VersionName,
        options: AddOptions
    ) {
        self.versions = versions
        self.found = found
        self.root = root
        self.version = version
        self.options = options
    }

    private var store: Store { versions.store }

    mutating func run(_ lease: borrowing Lease) throws(StoreError) -> AddReport {
        let batch = try store.makeBatch(lease)
        let ordinal = try store.nextOrdinal()
        let renews = try lookUp(ordinal)
        try readFiles(batch)
        try syncStaged(batch)

        let manifest = try found.manifest(
            version: version, ordinal: ordinal, createdAt: options.createdAt ?? secondsNow())
        let twins = try versions.refuseMergedTwins(of: manifest)
        let writing = ManifestFile(versions, manifest, lease: lease.name)
        let registration = try writing.registration()

        var completed: [String]?
        while completed == nil {
            // More than once only if the index was rebuilt, or the same version retired, meanwhile.
            let claim = try self.claim(registration, batch, lease)
            completed = try register(manifest, writing, registration, claim, renews, lease)
        }
        let new = try dropStagedNames(batch)
        return AddReport(
            version: version.description, files: manifest.count, bytes: manifest.byteCount,
            newObjects: new.count, newBytes: new.bytes, twins: twins,
            healed: try versions.restoreTrees(of: completed ?? [], except: version.description))
    }

    // MARK: Steps

    /// Writes manifest and tree and records the version.
    ///
    /// - Returns: the versions that are complete by it; `nil` if all must be repeated.
    private func register(
        _ manifest: Manifest, _ writing: ManifestFile, _ registration: Registration,
        _ claim: Int64, _ renews: Bool, _ lease: borrowing Lease
    ) throws(StoreError) -> [String]? {
        try writing.write()
        let tree = try versions.buildTree(of: manifest, lease: lease)
        // Links, tree and manifest in one step; what follows only renames.
        try store.syncAll()
        let isNew = try writing.publish()
        do throws(StoreError) {
            try versions.publishTree(tree, of: version.description)
            switch try settle(claim, registration, renews: renews, lease) {
            case .settled(let completed): return completed
            case .lost: return nil
            }
        } catch {
            // Not recorded, so not acknowledged: it must not come to life by itself. The error to
            // report is the first; if this fails too, the version is whole and merely there.
            if isNew {
                try? writing.unpublish()
                try? versions.removeTree(of: version.description)
            }
            throw error
        }
    }

    /// Asks the stat cache; returns whether hits should be renewed.
    private mutating func lookUp(_ ordinal: Int64) throws(StoreError) -> Bool {
        guard options.usesCache else { return true }
        let files = found.files
        let (addresses, renews) = try store.cachedAddresses(
            count: files.count, ordinal: ordinal
        ) { files[$0].key }
        for (position, address) in addresses.enumerated() {
            guard let address else { continue }
            found.files[position].address = address
            found.files[position].isCacheable = true
        }
        return renews
    }

    private mutating func readFiles(_ batch: ObjectBatch) throws(StoreError) {
        let positions = (0..<UInt32(found.files.count)).filter {
            found.files[Int($0)].address == .zero
        }
        let bytes = positions.reduce(Int64(0)) { $0 + found.files[Int($1)].key.byteCount }
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
        guard found.files.contains(where: \.isStaged) else { return }
        try batch.syncStaged(found.files.lazy.filter(\.isStaged).map(\.address))
    }

    /// Registers what is needed, then gives it its names.
    ///
    /// Objects that vanished or were never recorded are checked, or read from the source again.
    private mutating func claim(
        _ registration: Registration, _ batch: ObjectBatch, _ lease: borrowing Lease
    ) throws(StoreError) -> Int64 {
        let (claim, absent) = try store.claim(registration, lease: lease)
        try publishStaged(batch)
        let staged = Set(
            absent.isEmpty ? [] : found.files.lazy.filter(\.isStaged).map(\.address))
        var lacking: Set<ObjectID> = []
        var checker = try ObjectChecker()
        for position in absent {
            let address = registration.references[Int(position)].address
            guard !staged.contains(address) else { continue }
            if let object = try batch.adopt(address, checker: &checker) {
                noteAdopted(object)
            } else {
                lacking.insert(address)
            }
        }
        guard !lacking.isEmpty else { return claim }
        try readAgain(lacking, batch)
        return claim
    }

    private mutating func noteAdopted(_ object: StoredObject) {
        guard let fingerprint = object.fingerprint else { return }
        for position in found.files.indices where found.files[position].address == object.address {
            found.files[position].fingerprint = fingerprint
            found.files[position].isHashed = true
        }
    }

    private mutating func readAgain(
        _ lacking: Set<ObjectID>, _ batch: ObjectBatch
    ) throws(StoreError) {
        let positions = (0..<UInt32(found.files.count)).filter {
            lacking.contains(found.files[Int($0)].address)
        }
        let before = found.files
        let reading = SourceReading(
            store: store, root: root, batch: batch, followsLinks: options.followsLinks
        ) { _, _ in }
        try reading.read(positions, of: &found, again: true)
        for position in positions
        where before[Int(position)].address != found.files[Int(position)].address {
            throw StoreError(
                .changedWhileRead,
                "\"\(printable(found.path(Int(position))))\" has changed since it was first read; "
                    + "repeat the command")
        }
        try syncStaged(batch)
        try publishStaged(batch)
    }

    private func publishStaged(_ batch: ObjectBatch) throws(StoreError) {
        let files = found.files
        let positions = (0..<UInt32(files.count)).filter { files[Int($0)].isStaged }
        try batch.publish(count: positions.count) { files[Int(positions[$0])].address }
    }

    private func settle(
        _ claim: Int64, _ registration: Registration, renews: Bool, _ lease: borrowing Lease
    ) throws(StoreError) -> Settlement {
        let files = found.files
        let published = files.lazy.filter(\.isHashed).map {
            StoredObject(
                address: $0.address, byteCount: $0.key.byteCount, fingerprint: $0.fingerprint)
        }
        let cached = files.lazy.filter { $0.isCacheable && ($0.isHashed || renews) }
            .map { ($0.key, $0.address) }
        return try store.settle(
            claim, registration, published: published, cached: cached, lease: lease)
    }

    private func dropStagedNames(
        _ batch: ObjectBatch
    ) throws(StoreError) -> (count: Int, bytes: Int64) {
        var seen: Set<ObjectID> = []
        var bytes: Int64 = 0
        for file in found.files where file.isStaged && seen.insert(file.address).inserted {
            try batch.dropStagedName(file.address)
            bytes += file.key.byteCount
        }
        return (seen.count, bytes)
    }
}
