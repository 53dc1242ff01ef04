import Synchronization

// The bytes of objects against the index: parallel over the shards.

/// What is wrong with one object; suspected by a worker, confirmed under the write lock.
struct Suspicion: Sendable, Hashable {
    var kind: Finding.Kind
    var address: ObjectID?
    var path: String?
    var fingerprint: Fingerprint?
    var byteCount: Int64 = 0
}

extension Store {
    /// Reads every object and compares it with the index and, where that cannot vouch for it, with
    /// its address.
    /// - Parameter beside: what the calling thread does while the others begin.
    func suspectObjects(
        _ options: CheckOptions, _ report: inout CheckReport, _ sound: inout SoundInodes,
        beside: () throws(StoreError) -> Void
    ) throws(StoreError) -> [Suspicion] {
        let shards = StoreLayout.shards
        let state = Mutex<(suspicions: [Suspicion], objects: Int, bytes: Int64)>(([], 0, 0))
        let fingerprints = Mutex<[(ObjectID, Fingerprint)]>([])
        // By the chunk's first shard: chunks end in any order, and their entries are sorted.
        let inodes = Mutex<[Int: SoundInodes]>([:])
        let store = self
        // One transaction a chunk: not more than hold a few thousand objects, and few enough that no
        // thread waits long for the last one.
        let chunk = max(1, min(8, 256 * 2048 / max(try objectCount(), 1)))
        try Parallel.run(
            workers: Parallel.workerCount, count: shards.count, chunk: chunk, first: beside
        ) {
            (work) throws(StoreError) in
            var worker = try ShardCheck(store, isDeep: options.isDeep)
            while let chunk = work.nextChunk() {
                let names = shards[chunk]
                var rows = try store.rows(from: names.first ?? "", through: names.last ?? "")[...]
                for shard in names {
                    try store.checkInterruption()
                    // Rows are sorted by address, so those of one shard are a run.
                    let prefix = UInt64(Hex.bytes(shard)?.first ?? 0)
                    let own = rows.prefix { $0.address.w0 >> 56 == prefix }
                    rows = rows.dropFirst(own.count)
                    try worker.check(shard, Array(own))
                }
                let (objects, bytes) = state.withLock { state in
                    state.objects += worker.objects
                    state.bytes += worker.bytes
                    state.suspicions += worker.suspicions
                    return (state.objects, state.bytes)
                }
                fingerprints.withLock { $0 += worker.computed }
                inodes.withLock { $0[chunk.lowerBound] = worker.sound }
                worker.reset()
                options.progress(objects, bytes)
            }
        }
        try remember(fingerprints.withLock { $0 })
        // An inode number says nothing across file systems.
        let device = try fileSystem.status(directories.objects.raw).device
        if device == (try fileSystem.status(directories.versions.raw).device) {
            sound = SoundInodes(sorted: inodes.withLock { $0 })
        }
        let strays = try objects.strays().map { Suspicion(kind: .strayFile, path: "objects/\($0)") }
        return state.withLock { state in
            state.suspicions += strays
            report.checkedObjects = state.objects
            report.checkedBytes = state.bytes
            return state.suspicions
        }
    }

    // Fingerprints that a rebuild had to forget; not worth failing a check of a read-only store.
    private func remember(_ computed: [(ObjectID, Fingerprint)]) throws(StoreError) {
        guard !computed.isEmpty else { return }
        do throws(StoreError) {
            try index { (index) throws(StoreError) in
                try index.write { (connection) throws(StoreError) in
                    for (address, fingerprint) in computed {
                        try index.setFingerprint(fingerprint, of: address, connection)
                    }
                }
            }
        } catch {
            guard [.readOnly, .permission, .outOfSpace].contains(error.code) else { throw error }
        }
    }

    /// The rows of neighbouring shards, sorted by address.
    func rows(from first: String, through last: String) throws(StoreError) -> [ObjectRow] {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.objects(
                    from: Hex.bytes(first) ?? [], through: Hex.bytes(last) ?? [], connection)
            }
        }
    }

    private func objectCount() throws(StoreError) -> Int {
        try index { (index) throws(StoreError) in
            try index.read { (connection) throws(StoreError) in
                try index.lastObjectID(connection)
            }
        }
    }
}

/// One worker's look at shards.
private struct ShardCheck: ~Copyable {
    let store: Store
    let isDeep: Bool
    var checker: ObjectChecker
    var suspicions: [Suspicion] = []
    var computed: [(ObjectID, Fingerprint)] = []
    var sound = SoundInodes()
    var objects = 0
    var bytes: Int64 = 0

    init(_ store: Store, isDeep: Bool) throws(StoreError) {
        let checker = try ObjectChecker()
        self.store = store
        self.isDeep = isDeep
        self.checker = checker
    }

    mutating func reset() {
        suspicions = []
        computed = []
        sound = SoundInodes()
        objects = 0
        bytes = 0
    }

    mutating func check(_ shard: String, _ rows: [ObjectRow]) throws(StoreError) {
        let root = store.directories.objects.raw
        guard let directory = try open(shard, root) else {
            for row in rows where row.isPresent {
                suspicions.append(Suspicion(kind: .missingObject, address: row.address))
            }
            return
        }
        let listing = try list(directory.raw, shard)
        var position = 0
        for name in listing.objects {
            while position < rows.count, rows[position].address < name {
                suspectMissing(rows[position])
                position += 1
            }
            var row: ObjectRow?
            if position < rows.count, rows[position].address == name {
                row = rows[position]
                position += 1
            }
            try StoreLayout.withShardName(name) { (path) throws(StoreError) in
                try checkObject(name, directory.raw, path, row)
            }
        }
        while position < rows.count {
            suspectMissing(rows[position])
            position += 1
        }
        for address in listing.twins {
            let row = rows.first { $0.address == address }
            try StoreLayout.withShardName(address, executable: true) { (path) throws(StoreError) in
                try checkTwin(address, directory.raw, path, row)
            }
        }
    }

    // Addresses instead of names: sorted they meet the rows, and none needs an allocation.
    private mutating func list(
        _ directory: Int32, _ shard: String
    ) throws(StoreError) -> (objects: [ObjectID], twins: [ObjectID]) {
        var objects: [ObjectID] = []
        var twins: [ObjectID] = []
        var strays: [String] = []
        try store.fileSystem.listOnce(directory) { (name, _, _) throws(StoreError) in
            if let address = StoreLayout.address(shard, name) {
                objects.append(address)
            } else if let address = StoreLayout.address(shard, name, executable: true) {
                twins.append(address)
            } else {
                strays.append(String(cString: name))
            }
            return true
        }
        for name in strays.sorted() {
            suspicions.append(Suspicion(kind: .strayFile, path: "objects/\(shard)/\(name)"))
        }
        objects.sort()
        twins.sort()
        return (objects, twins)
    }

    // Something else in place of a shard is named as a stray; its objects are missing.
    private func open(_ shard: String, _ root: Int32) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try store.fileSystem.openIfPresent(root, shard, .directory)
        } catch {
            guard error.isNotDirectory else { throw error }
            return nil
        }
    }

    private mutating func suspectMissing(_ row: ObjectRow) {
        guard row.isPresent else { return }
        suspicions.append(Suspicion(kind: .missingObject, address: row.address))
    }

    private mutating func checkObject(
        _ address: ObjectID, _ directory: Int32, _ name: UnsafePointer<CChar>, _ row: ObjectRow?
    ) throws(StoreError) {
        let fileSystem = store.fileSystem
        let status: FileStatus
        let found: (kind: Finding.Kind?, fingerprint: Fingerprint?)
        do throws(StoreError) {
            guard let file = try fileSystem.openIfPresent(directory, name, .reading) else {
                return  // collected meanwhile
            }
            status = try fileSystem.status(file.raw)
            guard status.kind == .regular else {
                suspicions.append(Suspicion(kind: .notAFile, address: address))
                return
            }
            found = try judge(address, file.raw, status, row)
        } catch {
            guard error.isNotDirectory || error.code == .permission || error.code == .io else {
                throw error
            }
            let kind: Finding.Kind = error.isNotDirectory ? .notAFile : .damagedObject
            suspicions.append(Suspicion(kind: kind, address: address))
            return
        }
        objects += 1
        bytes += status.byteCount
        if let kind = found.kind {
            suspicions.append(
                Suspicion(
                    kind: kind, address: address, fingerprint: found.fingerprint,
                    byteCount: status.byteCount))
        } else if status.mode != 0o444 {
            suspicions.append(Suspicion(kind: .wrongMode, address: address))
        } else {
            sound.objects.append(.init(prefix: address.w0, inode: status.inode))
        }
    }

    private mutating func judge(
        _ address: ObjectID, _ file: Int32, _ status: FileStatus, _ row: ObjectRow?
    ) throws(StoreError) -> (kind: Finding.Kind?, fingerprint: Fingerprint?) {
        if !isDeep, let row, row.isPresent, let expected = row.fingerprint,
            row.byteCount == status.byteCount
        {
            let found = try checker.fingerprint(file, store.fileSystem)
            if found.fingerprint == expected, found.byteCount == status.byteCount {
                return (nil, expected)
            }
        }
        // The address decides: the index may be wrong, the address cannot.
        let found = try checker.hash(file, store.fileSystem)
        guard found.address == address else { return (.damagedObject, nil) }
        if let row, row.isDying { return (nil, nil) }
        guard let row, row.isPresent else { return (.unindexedObject, found.fingerprint) }
        if row.fingerprint == nil, row.byteCount == found.byteCount {
            computed.append((address, found.fingerprint))
            return (nil, found.fingerprint)
        }
        let agrees = row.fingerprint == found.fingerprint && row.byteCount == found.byteCount
        return (agrees ? nil : .wrongFingerprint, found.fingerprint)
    }

    private mutating func checkTwin(
        _ address: ObjectID, _ directory: Int32, _ name: UnsafePointer<CChar>, _ row: ObjectRow?
    ) throws(StoreError) {
        guard let status = try store.fileSystem.status(directory, name) else { return }
        if try !isTwin(of: address, directory, name, status, row) {
            suspicions.append(Suspicion(kind: .damagedTwin, address: address))
        } else if status.mode != 0o555 {
            suspicions.append(
                Suspicion(kind: .wrongMode, address: address, path: StoreLayout.twinSuffix))
        } else {
            sound.twins.append(.init(prefix: address.w0, inode: status.inode))
        }
    }

    private mutating func isTwin(
        of address: ObjectID, _ directory: Int32, _ name: UnsafePointer<CChar>,
        _ status: FileStatus, _ row: ObjectRow?
    ) throws(StoreError) -> Bool {
        guard status.kind == .regular,
            let file = try store.fileSystem.openIfPresent(directory, name, .reading)
        else { return false }
        // `nil`: its bytes are the object's.
        return try judge(address, file.raw, status, row).kind != .damagedObject
    }
}
