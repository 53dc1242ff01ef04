import Synchronization

// The bytes of objects against the index: parallel over the shards.

/// What is wrong with one object, and what its repair needs; suspected by a worker, confirmed under the write lock.
package struct Suspicion: Sendable, Hashable {
    var kind: Finding.Kind
    var address: ObjectID?
    var path: String?
    var fingerprint: Fingerprint?
    var byteCount: Int64 = 0
    /// Why its bytes could not be read.
    var unread: String?

    /// The same, for people.
    package var finding: Finding {
        let name = address.map(\.description) ?? ""
        let message =
            switch kind {
            case .damagedObject:
                unread.map { "object \(name) cannot be read: \($0)" }
                    ?? "the bytes of object \(name) do not match its address"
            case .damagedExecutableCopy: "the executable copy of object \(name) does not match it"
            case .missingObject: "object \(name) is missing, though the index lists it"
            case .notAFile: "something that is not a regular file stands in place of \(name)"
            case .wrongMode: "object \(name) has the wrong mode: it is writable or unreadable"
            case .unindexedObject: "object \(name) is sound but unknown to the index"
            case .wrongFingerprint:
                "object \(name) is sound; the index holds another size or fingerprint"
            case .strayFile: "\(printable(path ?? "")) does not belong to castree"
            default: "object \(name): \(kind.rawValue)"
            }
        let place =
            path ?? address.map { "\(StoreLayout.objects)/\(StoreLayout.objectPath($0))" }
        return Finding(
            kind, object: address,
            path: place == StoreLayout.executableCopySuffix ? nil : place, message)
    }
}

/// One pass over all objects: what its threads share.
final class ObjectPass: Sendable {
    let store: Store
    let options: CheckOptions
    /// When it began: what it finds sound counts as sound as of then.
    let startedAt: Int64
    let pace: ReadPace?
    /// What earlier passes remembered; nothing if every object is read anyway.
    let earlier: VerifiedTimes
    /// Whether the caller needs the inodes of sound objects afterwards.
    let keepsInodes: Bool
    private let rows: CheckedRows
    /// Which shards there are.
    ///
    /// One that is made later holds nothing that the rows know of, or the confirmation sees it.
    let shardsThere: [Bool]
    private let state = Mutex(State())
    /// Lets one thread at a time keep what was verified.
    private let keeping = Mutex<Void>(())

    private struct State {
        var confirmed: [Suspicion] = []
        var progress = CheckProgress()
        var computed: [(address: ObjectID, fingerprint: Fingerprint)] = []
        /// In the order in which they ended; until their times are kept.
        var finished: [FinishedRange] = []
        /// How many of their times wait to be kept.
        var timeCount = 0
        var hasKept = false
        var sound: [SoundInodes] = []
        var keepsAt = ContinuousClock.now + ObjectPass.keepingInterval
    }

    /// How often results are kept: a killed scrub repeats at most that much.
    private static let keepingInterval = Duration.seconds(60)
    /// Also when so many times wait, of 16 bytes each: a large store is remembered piece by piece.
    private static let timeCountMax = 1 << 18
    /// How many fingerprints, of 48 bytes each, are recorded in one transaction.
    private static let computedCountMax = 1 << 15

    init(_ store: Store, _ options: CheckOptions, keepsInodes: Bool) throws(StoreError) {
        self.store = store
        self.options = options
        self.keepsInodes = keepsInodes
        startedAt = secondsNow()
        pace = options.byteRateMax.map {
            ReadPace(byteRate: $0) { () throws(StoreError) in try store.checkInterruption() }
        }
        earlier = options.isPartial ? store.verifiedTimes() : VerifiedTimes()
        rows = try CheckedRows(store)
        shardsThere = try store.objects.shardsThere()
    }

    /// Reads every object and compares it with the index and, if that cannot prove it, with its
    /// address.
    /// - Parameter beside: what the calling thread does while the others begin.
    func run(beside: () throws(StoreError) -> Void) throws(StoreError) {
        let pass = self
        do throws(StoreError) {
            // Few shards a chunk, so that no thread waits long for the last thread.
            try Parallel.run(
                workers: Parallel.workerCount, count: StoreLayout.shards.count, chunk: 4,
                first: beside
            ) { (work) throws(StoreError) in
                var worker = try ShardCheck(pass)
                while let chunk = work.nextChunk() {
                    worker.begin(at: UInt64(chunk.lowerBound) << 56)
                    do throws(StoreError) {
                        for shard in chunk { try worker.check(shard, pass.rows.take(shard)) }
                    } catch {
                        // What was verified by then need not be read again.
                        try? worker.finish(through: nil)
                        throw error
                    }
                    try worker.finish(through: (UInt64(chunk.upperBound) << 56) &- 1)
                }
            }
        } catch {
            keepTimes()
            throw error
        }
        let strays = try store.objects.strays().map {
            Suspicion(kind: .strayFile, path: "\(StoreLayout.objects)/\($0)")
        }
        if !strays.isEmpty {
            var checker = try ObjectChecker()
            try confirm(strays, &checker)
        }
        try remember(takeComputed(atLeast: 1))
        keepTimes()
    }

    /// What was found, sorted by address and path.
    var confirmed: [Suspicion] {
        state.withLock { $0.confirmed }.sorted {
            ($0.path ?? $0.address?.description ?? "")
                < ($1.path ?? $1.address?.description ?? "")
        }
    }

    var progress: CheckProgress { state.withLock { $0.progress } }

    /// The inodes of all objects that are sound, if they were kept.
    var sound: SoundInodes { SoundInodes(joining: state.withLock { $0.sound }) }

    // MARK: What the workers report

    func note(_ more: CheckProgress) {
        options.progress(
            state.withLock { state in
                state.progress = state.progress + more
                return state.progress
            })
    }

    func note(
        _ range: FinishedRange, _ computed: [(address: ObjectID, fingerprint: Fingerprint)]
    ) throws(StoreError) {
        let timeCountMax = max(Self.timeCountMax, rows.objectCount / 16)
        let isDue = state.withLock { state in
            if keepsInodes { state.sound.append(range.sound) }
            state.finished.append(range)
            state.timeCount += range.times.count
            state.computed += computed
            guard state.keepsAt <= .now || state.timeCount >= timeCountMax else { return false }
            state.keepsAt = .now + Self.keepingInterval
            return true
        }
        try remember(takeComputed(atLeast: Self.computedCountMax))
        if isDue { keepTimes() }
    }

    private func takeComputed(
        atLeast count: Int
    ) -> [(address: ObjectID, fingerprint: Fingerprint)] {
        state.withLock { state in
            guard state.computed.count >= count else { return [] }
            let taken = state.computed
            state.computed = []
            return taken
        }
    }

    /// Looks again at suspicions, while neither writers nor collectors can act.
    func confirm(
        _ suspicions: [Suspicion], _ checker: inout ObjectChecker
    ) throws(StoreError) {
        guard !suspicions.isEmpty else { return }
        // Nobody can write meanwhile: no time to be slow.
        checker.pace = nil
        let confirmed = try store.confirmed(suspicions, &checker)
        checker.pace = pace
        try distrust(confirmed)
        state.withLock { state in
            state.confirmed += confirmed
            for one in confirmed { options.found(one.finding) }
        }
    }

    // A rebuild had to forget these fingerprints; they are not worth failing a check of a read-only
    // store.
    private func remember(
        _ computed: [(address: ObjectID, fingerprint: Fingerprint)]
    ) throws(StoreError) {
        guard !computed.isEmpty else { return }
        try writeIfPossible { (index) throws(StoreError) in
            for (address, fingerprint) in computed {
                try index.setFingerprint(fingerprint, of: address)
            }
        }
    }

    // Other bytes in the place of garbage may be the last copy of something: the next collection reads them, as it reads
    // all whose fingerprint it does not know.
    private func distrust(_ confirmed: [Suspicion]) throws(StoreError) {
        var damaged: [ObjectID] = []
        for one in confirmed where [.damagedObject, .damagedExecutableCopy].contains(one.kind) {
            guard let object = one.address else { continue }
            damaged.append(object)
            // Where nothing can be written, nobody links anything either.
            try? store.objects.unseal(object, executable: one.kind == .damagedExecutableCopy)
        }
        guard !damaged.isEmpty else { return }
        try writeIfPossible { (index) throws(StoreError) in
            for address in damaged { try index.distrustGarbage(address) }
        }
    }

    private func writeIfPossible(
        _ body: (IndexTransaction) throws(StoreError) -> Void
    ) throws(StoreError) {
        do throws(StoreError) {
            try store.writing(body)
        } catch {
            guard [.readOnly, .permission, .outOfSpace].contains(error.code) else { throw error }
        }
    }

    // MARK: When what was verified

    /// Keeps when objects were verified: by this pass, in the ranges that it finished since the last
    /// call; elsewhere as before.
    private func keepTimes() {
        keeping.withLock { _ in
            let (ranges, hasKept) = state.withLock { state in
                let taken = (state.finished, state.hasKept)
                (state.finished, state.timeCount, state.hasKept) = ([], 0, true)
                return taken
            }
            guard !ranges.isEmpty else { return }
            // If they cover everything, their widths add up to one more than a word holds.
            let width = ranges.reduce(0 as UInt64) {
                $0 &+ ($1.bounds.upperBound - $1.bounds.lowerBound) &+ 1
            }
            store.keep(
                ranges.sorted { $0.bounds.lowerBound < $1.bounds.lowerBound },
                areAll: !hasKept && width == 0)
        }
    }
}

/// A part of the address space that a worker has finished.
struct FinishedRange: Sendable {
    /// By the first eight bytes of addresses.
    var bounds: ClosedRange<UInt64>
    var sound: SoundInodes
    /// When its objects were found sound, sorted.
    var times: [VerifiedTimes.Entry]
}

/// The rows of the index, a block of shards at a time, each shard once.
final class CheckedRows: Sendable {
    private let store: Store
    private let blocks: [Block]
    /// About how many objects there are.
    let objectCount: Int

    private final class Block: Sendable {
        let shards = Mutex<[[ObjectRow]]?>(nil)
    }

    /// About how many rows, of 96 bytes each, are held for each worker.
    private static let rowCountMax = 2048

    init(_ store: Store) throws(StoreError) {
        let objectCount = try store.reading { (index) throws(StoreError) in
            try index.lastObjectID()
        }
        var count = 1
        while count < 256, objectCount / count > Self.rowCountMax { count *= 2 }
        blocks = (0..<count).map { _ in Block() }
        self.store = store
        self.objectCount = objectCount
    }

    /// The rows of a shard, sorted; the first shard of a block reads those of the others, too.
    func take(_ shard: Int) throws(StoreError) -> [ObjectRow] {
        let width = 256 / blocks.count
        let block = shard / width
        // As in `Store.index`: `withLock` is generic over its error.
        let outcome: Result<[ObjectRow], StoreError> = blocks[block].shards.withLock { shards in
            do throws(StoreError) {
                if shards == nil {
                    shards = try load(UInt8(block * width), UInt8((block + 1) * width - 1))
                }
            } catch {
                return .failure(error)
            }
            var rows: [ObjectRow] = []
            if let held = shards?[shard % width] { rows = held }
            shards?[shard % width] = []
            return .success(rows)
        }
        return try outcome.get()
    }

    private func load(_ first: UInt8, _ last: UInt8) throws(StoreError) -> [[ObjectRow]] {
        try store.reading { (index) throws(StoreError) in
            try index.objects(from: first, through: last)
        }
    }
}
