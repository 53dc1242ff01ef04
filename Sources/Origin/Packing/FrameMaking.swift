import CASStore
import DeltaSearch
import HotPush
import Synchronization
import Zstandard

/// Compresses frames on all processors, each once.
final class FrameMaking: Sendable {
    let source: PackSource
    let frames: FrameStore
    let shares: MemoryShares
    let progress: PackingProgress
    let largeByteCount: Int64

    /// The memory for all frames in progress: contents, prefixes and compressors.
    static let memoryByteCountMax = 224 << 20
    /// A larger encoder is not kept for the next frame, because the others need the memory.
    private static let keptEncoderByteCount = 8 << 20
    /// How much streamed content is compressed between two checks for an interruption.
    private static let stepByteCount = 128 << 10

    /// - Parameter largeByteCount: frames with more content are streamed.
    init(
        _ source: PackSource, _ frames: FrameStore, _ shares: MemoryShares,
        _ progress: PackingProgress, largeByteCount: Int64
    ) {
        self.source = source
        self.frames = frames
        self.shares = shares
        self.progress = progress
        self.largeByteCount = largeByteCount
    }

    /// The sizes of frames, compressed now or kept; 0 if larger than the limit.
    /// - Parameter limits: the largest size at which a frame is worth it.
    func sizes(of limits: [FrameRecipe: Int64]) throws(StoreError) -> [FrameRecipe: Int64] {
        let sizes = try keptSizes(of: limits.keys)
        progress.countReused(sizes.count)
        var missing: [(recipe: FrameRecipe, name: ObjectID)] = []
        for recipe in limits.keys where sizes[recipe] == nil {
            missing.append((recipe, try recipe.name()))
        }
        // The longest first, so that no processor is left with one at the end.
        missing.sort {
            let (left, right) = ($0.recipe.effort, $1.recipe.effort)
            return left != right ? left > right : $0.name < $1.name
        }
        progress.add(missing.reduce(0) { $0 + $1.recipe.effort })
        let made = try make(missing, limits)
        return sizes.merging(made) { $1 }
    }

    /// Compresses nothing.
    func keptSizes(
        of recipes: some Sequence<FrameRecipe>
    ) throws(StoreError) -> [FrameRecipe: Int64] {
        var sizes: [FrameRecipe: Int64] = [:]
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 64)
        defer { buffer.deallocate() }
        for recipe in recipes {
            try progress.check()
            sizes[recipe] = try frames.byteCount(of: recipe.name(), buffer: buffer)
        }
        return sizes
    }

    private func make(
        _ missing: [(recipe: FrameRecipe, name: ObjectID)], _ limits: [FrameRecipe: Int64]
    ) throws(StoreError) -> [FrameRecipe: Int64] {
        let sizes = Mutex<[FrameRecipe: Int64]>([:])
        let making = self
        try Parallel.run(workers: Parallel.workerCount, count: missing.count, chunk: 1) {
            (work) throws(StoreError) in
            let spare = try ZstdEncoder()
            while let chunk = work.nextChunk() {
                for position in chunk {
                    let (recipe, name) = missing[position]
                    let byteCount = try making.make(recipe, name, limits[recipe] ?? 0, spare)
                    sizes.withLock { $0[recipe] = byteCount }
                }
            }
        }
        return sizes.withLock { $0 }
    }

    private func make(
        _ recipe: FrameRecipe, _ name: ObjectID, _ limit: Int64, _ spare: ZstdEncoder
    ) throws(StoreError) -> Int64 {
        try progress.check()
        if recipe.isDelta { return try makeDelta(recipe, name, limit) }
        let byteCount = ZstdEncoder.memory(
            recipe.settings, contentByteCount: Int(recipe.contentByteCount),
            prefixByteCount: Int(recipe.prefixByteCount))
        let isSmall = byteCount <= Self.keptEncoderByteCount
        let encoder = isSmall ? spare : try ZstdEncoder()
        defer { progress.advance(by: recipe.effort) }
        guard recipe.contentByteCount <= largeByteCount else {
            // The window, and as much for libzstd's own buffers.
            let window = 2 << recipe.settings.windowLog
            return try shares.with(byteCount + window, unless: progress.isInterrupted) {
                () throws(StoreError) in try makeLarge(recipe, name, limit, encoder)
            }
        }
        return try shares.with(byteCount + Int(recipe.effort), unless: progress.isInterrupted) {
            () throws(StoreError) in try makeWhole(recipe, name, limit, encoder)
        }
    }

    private func makeDelta(
        _ recipe: FrameRecipe, _ name: ObjectID, _ limit: Int64
    ) throws(StoreError) -> Int64 {
        defer { progress.advance(by: recipe.effort) }
        let memory = DeltaMaking.memoryByteCount(
            contentByteCount: Int(recipe.contentByteCount),
            baseByteCount: Int(recipe.prefixByteCount))
        return try shares.with(
            memory + Int(recipe.effort), unless: progress.isInterrupted
        ) { () throws(StoreError) in
            guard let base = try bytes(recipe.bases) else { return 0 }
            guard let content = try bytes(recipe.objects) else {
                throw source.missing(recipe.objects)
            }
            let isInterrupted = progress.isInterrupted
            let make = { @Sendable () throws(StoreError) -> [UInt8]? in
                try DeltaMaking.frame(
                    of: content, from: base, limit: Int(limit), isInterrupted: isInterrupted)
            }
            let frame =
                recipe.takesLong
                ? try UnstoppableWork.run(unless: isInterrupted, make) : try make()
            try frames.keep(frame ?? [], as: name)
            return Int64(frame?.count ?? 0)
        }
    }

    private func makeWhole(
        _ recipe: FrameRecipe, _ name: ObjectID, _ limit: Int64, _ encoder: ZstdEncoder
    ) throws(StoreError) -> Int64 {
        // An unreadable base only costs bytes, and may be readable next time.
        guard let prefix = try bytes(recipe.bases) else { return 0 }
        guard let content = try bytes(recipe.objects) else {
            throw source.missing(recipe.objects)
        }
        let settings = recipe.settings
        let frame =
            recipe.takesLong
            ? try UnstoppableWork.run(unless: progress.isInterrupted) { () throws(StoreError) in
                try ZstdEncoder().encode(content, prefix: prefix, settings, limit: Int(limit))
            } : try encoder.encode(content, prefix: prefix, settings, limit: Int(limit))
        try frames.keep(frame ?? [], as: name)
        return Int64(frame?.count ?? 0)
    }

    private func makeLarge(
        _ recipe: FrameRecipe, _ name: ObjectID, _ limit: Int64, _ encoder: ZstdEncoder
    ) throws(StoreError) -> Int64 {
        let buffers = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 << 20, alignment: 64)
        defer { buffers.deallocate() }
        let (input, output) = (
            UnsafeMutableRawBufferPointer(rebasing: buffers[..<(1 << 20)]),
            UnsafeMutableRawBufferPointer(rebasing: buffers[(1 << 20)...])
        )
        return try frames.keep(as: name, limit: limit) { (keep) throws(StoreError) in
            try encoder.begin(byteCount: recipe.contentByteCount, recipe.settings)
            for object in recipe.objects {
                try source.forEachPiece(of: object, buffer: input) { (piece) throws(StoreError) in
                    for start in stride(from: 0, to: piece.count, by: Self.stepByteCount) {
                        try progress.check()
                        let end = min(start + Self.stepByteCount, piece.count)
                        try encoder.add(
                            UnsafeRawBufferPointer(rebasing: piece[start..<end]), buffer: output,
                            keep)
                    }
                }
            }
            try encoder.finish(buffer: output, keep)
        }
    }

    /// The concatenated bytes of objects; `nil` if one cannot be read.
    private func bytes(_ objects: [Reference]) throws(StoreError) -> [UInt8]? {
        var bytes: [UInt8] = []
        for object in objects {
            guard let next = try source.read(object) else { return nil }
            if objects.count == 1 { return next }
            bytes += next
        }
        return bytes
    }
}

extension FrameRecipe {
    var effort: Int64 { contentByteCount + prefixByteCount }

    /// Whether one call of a library may delay an interruption: at level 19, a prefix of 1 MB takes seconds; a base of
    /// 10 MB is sorted in one.
    var takesLong: Bool {
        isDelta
            ? prefixByteCount >= 4 << 20 : effort >= (level < 10 ? 16 << 20 : 256 << 10)
    }
}

/// The memory shared by workers, each of which waits for its share in the order of arrival.
final class MemoryShares: Sendable {
    private struct State {
        var free: Int
        var next = 0
        /// In the order of arrival.
        var waiting: [Int] = []
    }

    private let total: Int
    private let state: Monitor<State>

    init(_ byteCount: Int) {
        total = byteCount
        state = Monitor(State(free: byteCount))
    }

    /// Calls `body` when this much memory is free; a request for more than the total waits until all is free.
    /// - Throws: `.interrupted`; what `body` throws.
    func with<R>(
        _ byteCount: Int, unless isInterrupted: () -> Bool, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let share = min(byteCount, total)
        let ticket = state.change { state in
            state.next += 1
            state.waiting.append(state.next)
            return state.next
        }
        func take(_ state: inout State) {
            state.waiting.removeFirst()
            state.free -= share
        }
        while state.wait(
            atMost: interruptionPause,
            until: { $0.waiting.first == ticket && $0.free >= share }, take) == nil
        {
            // The others continue until they notice the interruption themselves.
            if isInterrupted() {
                state.change { $0.waiting.removeAll { $0 == ticket } }
                throw .packingInterrupted
            }
        }
        defer { state.change { $0.free += share } }
        return try body()
    }
}

/// How soon a thread that waits for others notices an interruption.
private let interruptionPause = Duration.milliseconds(10)

/// Work that cannot be stopped, such as one call of libzstd, but need not be waited for.
enum UnstoppableWork {
    /// Runs the work on its own thread, and waits for it.
    /// - Throws: `.interrupted`, within a few milliseconds, while the abandoned work continues to its end; what
    ///   `body` throws.
    static func run<R: Sendable>(
        unless isInterrupted: () -> Bool,
        _ body: @escaping @Sendable () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let outcome = Monitor<Result<R, StoreError>?>(nil)
        Parallel.detach {
            let result: Result<R, StoreError>
            do throws(StoreError) {
                result = .success(try body())
            } catch {
                result = .failure(error)
            }
            outcome.change { $0 = result }
        }
        while true {
            let result = outcome.wait(atMost: interruptionPause, until: { $0 != nil }) { $0 }
            if let result = result ?? nil { return try result.get() }
            if isInterrupted() { throw .packingInterrupted }
        }
    }
}

final class PackingProgress: Sendable {
    let isInterrupted: @Sendable () -> Bool
    private let report: @Sendable (_ done: Int64, _ total: Int64) -> Void
    private let expected: Int64
    private let done = Atomic<Int64>(0)
    private let total = Atomic<Int64>(0)
    private let reused = Atomic<Int>(0)
    private let made = Atomic<Int>(0)

    /// - Parameter expected: an estimate of the bytes to examine, until they are known.
    init(
        expected: Int64, isInterrupted: @escaping @Sendable () -> Bool,
        report: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) {
        self.expected = expected
        self.isInterrupted = isInterrupted
        self.report = report
    }

    var frameCounts: (reused: Int, made: Int) {
        (reused.load(ordering: .relaxed), made.load(ordering: .relaxed))
    }

    func check() throws(StoreError) {
        if isInterrupted() { throw .packingInterrupted }
    }

    func add(_ byteCount: Int64) { total.add(byteCount, ordering: .relaxed) }

    /// Reports uncounted work, so that the display appears immediately.
    func tick() {
        let total = total.load(ordering: .relaxed)
        report(done.load(ordering: .relaxed), total > 0 ? total : expected)
    }

    func countReused(_ count: Int) { reused.add(count, ordering: .relaxed) }

    func advance(by byteCount: Int64) {
        made.add(1, ordering: .relaxed)
        done.add(byteCount, ordering: .relaxed)
        tick()
    }
}

extension StoreError {
    /// The error of a publisher interrupted by a signal before it has committed anything.
    static var publishingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted; the channel offers what it did before, and repeat the command to continue"
        )
    }

    static var packingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted while packing; what is compressed is kept, and repeat the command to continue"
        )
    }
}
