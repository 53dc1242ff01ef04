/// One worker's check of shards.
struct ShardCheck: ~Copyable {
    private let pass: ObjectPass
    private let store: Store
    private let isDeep: Bool
    private let now: UInt32
    private var checker: ObjectChecker
    private var suspicions: [Suspicion] = []
    private var computed: [(address: ObjectID, fingerprint: Fingerprint)] = []
    private var sound = SoundInodes()
    /// When each object was found sound, for the next check.
    private var times: [VerifiedTimes.Entry] = []
    private var progress = CheckProgress()
    /// Where the part of the address space that is not reported yet begins, and how far it goes.
    private var beginning: UInt64 = 0
    private var reached: UInt64?
    private var sinceClock = 0
    private var reportsAt = ContinuousClock.now + ShardCheck.reportingInterval

    /// A range is reported after this time at the latest, even in the middle of a large shard.
    private static let reportingInterval = Duration.seconds(10)

    init(_ pass: ObjectPass) throws(StoreError) {
        var checker = try ObjectChecker()
        checker.pace = pass.pace
        self.pass = pass
        store = pass.store
        isDeep = pass.options.isDeep
        now = VerifiedTimes.time(pass.startedAt, isDeep: pass.options.isDeep)
        self.checker = checker
    }

    /// Begins a part of the address space.
    mutating func begin(at prefix: UInt64) {
        beginning = prefix
        reached = nil
        sound = SoundInodes(from: prefix)
    }

    /// Reports what was found up to an address, or up to the last one looked at.
    mutating func finish(through prefix: UInt64?) throws(StoreError) {
        pass.note(progress)
        progress = CheckProgress()
        let found = suspicions
        suspicions = []
        try pass.confirm(found, &checker)
        guard let end = prefix ?? reached else { return }
        let range = FinishedRange(bounds: beginning...end, sound: sound, times: times)
        let fingerprints = computed
        computed = []
        times = []
        begin(at: end &+ 1)
        try pass.note(range, fingerprints)
        reportsAt = .now + Self.reportingInterval
    }

    mutating func check(_ number: Int, _ rows: [ObjectRow]) throws(StoreError) {
        try store.checkInterruption()
        let shard = StoreLayout.shards[number]
        // Something else in place of a shard is reported as a stray; its objects are missing.
        guard pass.shardsThere[number],
            let directory = try allowing(
                \.isNotDirectory,
                try store.fileSystem.openIfPresent(
                    store.directories.objects.raw, shard, .directory))
        else {
            for row in rows { suspectMissing(row) }
            return
        }
        let listing = try list(directory.raw, shard)
        var rows = rows[...]
        var executableCopies = listing.executableCopies[...]
        for address in listing.objects {
            while let row = rows.first, row.address < address {
                suspectMissing(row)
                rows.removeFirst()
            }
            while let copied = executableCopies.first, copied < address {
                try checkExecutableCopy(copied, directory.raw, nil)
                executableCopies.removeFirst()
            }
            let known = rows.first?.address == address ? rows.removeFirst() : nil
            let hasExecutableCopy = executableCopies.first == address
            if hasExecutableCopy { executableCopies.removeFirst() }
            try check(address, directory.raw, known, hasExecutableCopy: hasExecutableCopy)
            reached = address.w0
            try reportIfDue()
        }
        for row in rows { suspectMissing(row) }
        for copied in executableCopies { try checkExecutableCopy(copied, directory.raw, nil) }
    }

    private mutating func reportIfDue() throws(StoreError) {
        sinceClock += 1
        // Look at the clock seldom, unless each object may take long.
        guard sinceClock >= 64 || pass.pace != nil else { return }
        sinceClock = 0
        try store.checkInterruption()
        pass.note(progress)
        progress = CheckProgress()
        if reportsAt <= .now { try finish(through: nil) }
    }

    // Addresses, not names: sorted, they have the order of the rows, and none needs an allocation.
    private mutating func list(
        _ directory: Int32, _ shard: String
    ) throws(StoreError) -> (objects: [ObjectID], executableCopies: [ObjectID]) {
        var objects: [ObjectID] = []
        var executableCopies: [ObjectID] = []
        var strays: [String] = []
        try store.fileSystem.list(directory, once: true) { (name, _, _) throws(StoreError) in
            if let address = StoreLayout.address(shard, name) {
                objects.append(address)
            } else if let address = StoreLayout.address(shard, name, executable: true) {
                executableCopies.append(address)
            } else {
                strays.append(String(cString: name))
            }
            return true
        }
        for name in strays.sorted() {
            suspicions.append(
                Suspicion(kind: .strayFile, path: "\(StoreLayout.objects)/\(shard)/\(name)"))
        }
        objects.sort()
        executableCopies.sort()
        return (objects, executableCopies)
    }

    private mutating func suspectMissing(_ row: ObjectRow) {
        guard row.isPresent else { return }
        suspicions.append(Suspicion(kind: .missingObject, address: row.address))
    }

    // MARK: One object

    private mutating func check(
        _ address: ObjectID, _ directory: Int32, _ row: ObjectRow?, hasExecutableCopy: Bool
    ) throws(StoreError) {
        let count = suspicions.count
        let isRead = try StoreLayout.withShardName(address) { (name) throws(StoreError) in
            try checkObject(address, directory, name, row)
        }
        guard hasExecutableCopy else { return }
        var isEnough = false
        if !isRead { isEnough = try skipExecutableCopy(address, directory, row) }
        if !isEnough { try checkExecutableCopy(address, directory, row) }
        // If the executable copy is not sound, the object gets no time, so that the next check looks
        // again.
        if suspicions.count > count, times.last?.prefix == address.w0 { times.removeLast() }
    }

    /// When an object that need not be read was last found sound, 0 for never; `nil` if it must be
    /// read.
    private func timeToSkip(_ address: ObjectID) -> UInt32? {
        let options = pass.options
        guard options.isPartial else { return nil }
        // A future time means that the clock went back: then nothing is known.
        var earlier = pass.earlier.time(of: address, isDeep: isDeep) ?? 0
        if earlier > now | 1 { earlier = 0 }
        if let revisits = options.revisits, !revisits.contains(address) { return earlier }
        if let sample = options.sample, !sample.contains(address) { return earlier }
        guard let since = options.since, earlier > 0, Int64(earlier) >= since else { return nil }
        return earlier
    }

    /// - Returns: whether its bytes were read.
    private mutating func checkObject(
        _ address: ObjectID, _ directory: Int32, _ name: UnsafePointer<CChar>, _ row: ObjectRow?
    ) throws(StoreError) -> Bool {
        if let time = timeToSkip(address), let row,
            try skipObject(row, time, directory, name)
        {
            return false
        }
        let fileSystem = store.fileSystem
        let status: FileStatus
        let found: (kind: Finding.Kind?, fingerprint: Fingerprint?)
        do throws(StoreError) {
            guard let file = try fileSystem.openIfPresent(directory, name, .reading) else {
                return true  // collected meanwhile
            }
            status = try fileSystem.status(file.raw)
            guard status.kind == .regular else {
                suspicions.append(Suspicion(kind: .notAFile, address: address))
                return true
            }
            found = try judge(address, file.raw, status, row)
        } catch {
            guard error.isNotDirectory || error.code == .permission || error.code == .io else {
                throw error
            }
            let kind: Finding.Kind = error.isNotDirectory ? .notAFile : .damagedObject
            let unread = error.isUnreadable ? error.advising("see dmesg and smartctl").message : nil
            suspicions.append(Suspicion(kind: kind, address: address, unread: unread))
            return true
        }
        progress.objects += 1
        progress.bytes += status.byteCount
        if let kind = found.kind {
            suspicions.append(
                Suspicion(
                    kind: kind, address: address, fingerprint: found.fingerprint,
                    byteCount: status.byteCount))
        } else if status.mode != 0o444, store.keepsModes {
            suspicions.append(Suspicion(kind: .wrongMode, address: address))
        } else {
            noteSound(address, inode: status.inode, time: now)
        }
        return true
    }

    /// Looks at an object without reading it.
    /// - Returns: whether that is enough.
    private mutating func skipObject(
        _ row: ObjectRow, _ time: UInt32, _ directory: Int32, _ name: UnsafePointer<CChar>
    ) throws(StoreError) -> Bool {
        guard row.isPresent, let status = try store.fileSystem.status(directory, name),
            status.kind == .regular, status.byteCount == row.byteCount,
            status.mode == 0o444 || !store.keepsModes
        else { return false }
        progress.skippedObjects += 1
        progress.skippedBytes += status.byteCount
        noteSound(row.address, inode: status.inode, time: time)
        return true
    }

    private mutating func noteSound(_ address: ObjectID, inode: UInt64, time: UInt32) {
        if pass.keepsInodes { sound.append(address, inode: inode) }
        // 0 means never.
        if time > 0 { times.append(.init(prefix: address.w0, time: time)) }
    }

    private mutating func judge(
        _ address: ObjectID, _ file: Int32, _ status: FileStatus, _ row: ObjectRow?
    ) throws(StoreError) -> (kind: Finding.Kind?, fingerprint: Fingerprint?) {
        var row = row
        // It may have been recorded since the rows were read.
        if row?.isPresent != true {
            row = try store.reading { (index) throws(StoreError) in try index.object(address) }
        }
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
        if let row, row.isMarkedForDeletion { return (nil, nil) }
        guard let row, row.isPresent else { return (.unindexedObject, found.fingerprint) }
        if row.fingerprint == nil, row.byteCount == found.byteCount,
            let fingerprint = found.fingerprint
        {
            computed.append((address, fingerprint))
            return (nil, fingerprint)
        }
        let agrees = row.fingerprint == found.fingerprint && row.byteCount == found.byteCount
        return (agrees ? nil : .wrongFingerprint, found.fingerprint)
    }

    // MARK: Its executable copy

    private mutating func checkExecutableCopy(
        _ address: ObjectID, _ directory: Int32, _ row: ObjectRow?
    ) throws(StoreError) {
        try StoreLayout.withShardName(address, executable: true) { (name) throws(StoreError) in
            guard let status = try store.fileSystem.status(directory, name) else { return }
            switch try isExecutableCopy(of: address, directory, name, status, row) {
            case nil: return  // collected meanwhile
            case false?:
                suspicions.append(Suspicion(kind: .damagedExecutableCopy, address: address))
            case true?: judgeMode(of: address, status)
            }
        }
    }

    private mutating func judgeMode(of address: ObjectID, _ status: FileStatus) {
        if status.mode != 0o555, store.keepsModes {
            suspicions.append(
                Suspicion(
                    kind: .wrongMode, address: address, path: StoreLayout.executableCopySuffix))
        } else {
            if pass.keepsInodes { sound.appendExecutableCopy(address, inode: status.inode) }
        }
    }

    /// Looks at an executable copy without reading it.
    /// - Returns: whether that is enough.
    private mutating func skipExecutableCopy(
        _ address: ObjectID, _ directory: Int32, _ row: ObjectRow?
    ) throws(StoreError) -> Bool {
        try StoreLayout.withShardName(address, executable: true) { (name) throws(StoreError) in
            guard let status = try store.fileSystem.status(directory, name) else { return true }
            guard status.kind == .regular, status.byteCount == row?.byteCount else { return false }
            judgeMode(of: address, status)
            return true
        }
    }

    /// - Returns: `nil` if it is gone.
    private mutating func isExecutableCopy(
        of address: ObjectID, _ directory: Int32, _ name: UnsafePointer<CChar>,
        _ status: FileStatus, _ row: ObjectRow?
    ) throws(StoreError) -> Bool? {
        guard status.kind == .regular else { return false }
        do throws(StoreError) {
            guard let file = try store.fileSystem.openIfPresent(directory, name, .reading) else {
                return nil
            }
            // `nil`: its bytes are the object's.
            return try judge(address, file.raw, status, row).kind != .damagedObject
        } catch {
            guard error.isUnreadable else { throw error }
            return false
        }
    }
}
