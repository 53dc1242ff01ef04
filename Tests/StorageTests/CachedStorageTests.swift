import BucketTestSupport

extension TemporaryDirectory {
    /// A cache of a storage, which keeps the directory as long as it lives.
    ///
    /// Keys that end with an address, wherever it stands, name their bytes.
    func cache(
        of base: any ObjectStorage, sentinels: [String] = [], byteCount: Int64 = 1 << 30,
        clock: Clock = Clock(), notices: Notices = Notices()
    ) throws -> CachedStorage {
        let directory = self
        var options = CachedStorage.Options()
        options.byteCount = byteCount
        options.timeout = 0
        options.sentinels = sentinels
        options.clock = { clock.now.load(ordering: .relaxed) }
        options.notice = {
            notices.add($0)
            withExtendedLifetime(directory) {}
        }
        options.naming = { key in
            let name = key.split(separator: "/").last.map(String.init) ?? ""
            return ObjectID(name).map {
                NamedFile(key, name: "named/\(name)", $0, byteCountMax: 1 << 20)
            }
        }
        let copies = try DirectoryStorage(path, scratch: ".scratch", isDurable: false)
        return CachedStorage(base, in: copies, options)
    }
}

/// A clock that continues when it is told to.
final class Clock: Sendable {
    let now = Atomic<Int64>(1)
}

/// What a cache promises besides the contract of all storages.
@Suite struct CachedStorageTests {
    private let store = ModelStore()
    private let directory = TemporaryDirectory()
    private let asked = Notices()

    private func base(
        _ fate: @escaping @Sendable (String) -> RequestFate = { _ in .answered }
    ) -> ModelStorage {
        ModelStorage(
            store,
            schedule: { [asked] request in
                asked.add(request.key)
                return fate(request.key)
            })
    }

    private func write(_ text: String, in folder: String = "a") throws -> NamedFile {
        let address = try body(text).address
        let key = "\(folder)/\(address)"
        store.set(key, Array(text.utf8))
        return NamedFile(key, name: "named/\(address)", address, byteCountMax: 1 << 20)
    }

    private func askedCount(_ key: String? = nil) -> Int {
        asked.all.filter { $0 == key ?? $0 }.count
    }

    @Test func `a file that is named by its bytes comes once, also for the next process`() throws {
        let file = try write("one")
        let path = directory.appending(file.name)
        for change in ["nothing", "a process that ends", "other bytes", "removal"] {
            if change == "other bytes" { try Data("two".utf8).write(to: URL(filePath: path)) }
            let cache = try directory.cache(of: base())
            let copies = try DirectoryStorage(directory.path, scratch: ".scratch")
            cache.begin(with: try copies.list(ListRequest(prefix: "")).files)
            if change == "removal" { try FileManager.default.removeItem(atPath: path) }
            let count = askedCount()
            for _ in 0..<2 { try expect(cache.text(file.key), equals: "one") }
            let part = try cache.bytes(file.key, ReadRequest(range: 1..<2, byteCountMax: 1))
            expect(part.bytes, equals: Array("n".utf8))
            expect(askedCount() - count == (change == "a process that ends" ? 0 : 1), "\(change)")
            let head = try require(try cache.head(file.key))
            let same = ReadRequest(unlessTag: head.tag, byteCountMax: 9)
            try expect(cache.bytes(file.key, same).outcome, equals: .notModified)
        }
    }

    @Test func `bytes that are not what their name says are passed on to nobody`() throws {
        let file = try write("one")
        let isTurned = Atomic(true)
        let cache = try directory.cache(
            of: base { _ in isTurned.load(ordering: .relaxed) ? .turned : .answered })
        try expect(cache.text(file.key) == nil)
        expect(!cache.has(file.name))
        isTurned.store(false, ordering: .relaxed)
        cache.negatives.forgetMissing()
        try expect(cache.text(file.key), equals: "one")
    }

    @Test func `what is sent stays, and what was used longest ago goes first`() throws {
        let cache = try directory.cache(of: base(), byteCount: 10 * 4096)
        let files = try (0..<12).map { try write("\($0)") }
        try cache.fetch(Array(files[..<10]), .listed)
        // 0 is being sent, 1 was used last.
        let hold = cache.pin([files[0].name])
        withExtendedLifetime(cache.pin([files[1].name])) {}
        try cache.fetch([files[10]], .listed)
        let left = files.map { cache.has($0.name) }
        expect(
            left, equals: [true, true, false, false] + Array(repeating: true, count: 7) + [false])
        expect(cache.pin(allOf: [files[1].name, files[2].name]) == nil)
        withExtendedLifetime(hold) {}
        // Two more make it too full again: now the first one may go, too.
        try cache.fetch(Array(files[2..<4]), .listed)
        expect(cache.has(files[3].name))
    }

    @Test
    func `who asks for a file where it stands shares no failure of who asks elsewhere`() throws {
        let cache = try directory.cache(of: base())
        let there = try write("one", in: "there")
        let elsewhere = NamedFile(
            "elsewhere/\(there.address)", name: there.name, there.address, byteCountMax: 9)
        let failures = Mutex<[String]>([])
        try cache.inParallel(2) { (index) throws(StoreError) in
            let file = [elsewhere, there][index]
            do throws(StoreError) { try cache.fetch([file], .asked) } catch {
                failures.withLock { $0.append(file.key) }
            }
        }
        expect(failures.withLock { $0.filter { $0 != elsewhere.key } }, equals: [])
        try expect(cache.text(there.key), equals: "one")
    }

    /// Requests that are not answered until they may be.
    private final class Held: Sendable {
        private let state = Mutex<(now: Int, most: Int, isOver: Bool)>((0, 0, false))
        var now: Int { state.withLock { $0.now } }
        var most: Int { state.withLock { $0.most } }
        func end() { state.withLock { $0.isOver = true } }

        func meet() -> RequestFate {
            state.withLock { ($0.now, $0.most) = ($0.now + 1, max($0.most, $0.now + 1)) }
            while !state.withLock({ $0.isOver }) { pause(milliseconds: 1) }
            state.withLock { $0.now -= 1 }
            return .answered
        }
    }

    @Test(.timeLimit(.minutes(60)))
    func `who has lost one file hears so at once, while others still come`() throws {
        let (there, gone) = (try write("one"), try write("two"))
        store.set(gone.key, nil)
        let held = Held()
        let cache = try directory.cache(
            of: WideStorage(base: base { $0 == there.key ? held.meet() : .answered }))
        let error = #expect(throws: StoreError.self) { try cache.fetch([there, gone], .listed) }
        expect(error?.code == .missingFromBucket && !cache.has(there.name))
        held.end()
        try expect(cache.text(there.key), equals: "one")
        expect(askedCount(there.key), equals: 1)
    }

    @Test(.timeLimit(.minutes(60)))
    func `what nobody knows to be there comes two at a time, what is known beside`() throws {
        let strays = try (0..<6).map { try write("stray \($0)") }
        let known = try write("known")
        let held = Held()
        let cache = try directory.cache(
            of: WideStorage(base: base { $0 == known.key ? .answered : held.meet() }))
        let running = strays.map { file in
            // Whether it comes is seen below.
            Parallel.begin { try? cache.fetch([file], .asked) }
        }
        while held.now < 2 { pause(milliseconds: 1) }
        try cache.fetch([known], .listed)
        held.end()
        for each in running { each.wait() }
        expect(held.most, equals: 2)
        expect(strays.allSatisfy { cache.has($0.name) })
    }

    @Test
    func `vain requests are forgotten after a minute, and there are only so many in one`() throws {
        let clock = Clock()
        let cache = try directory.cache(of: base(), clock: clock)
        let strays = try (0..<100).map { number in
            let address = try body("nobody's \(number)").address
            return NamedFile("a/\(address)", name: "named/\(address)", address, byteCountMax: 9)
        }
        func ask() -> [StoreError.Code?] {
            strays.map { file in
                do throws(StoreError) { try cache.fetch([file], .asked) } catch {
                    return error.code
                }
                return nil
            }
        }
        let max = NegativeCache.strayCountMax
        for round in 1...2 {
            expect(
                ask().map { $0 == .missingFromBucket },
                equals: Array(repeating: true, count: max)
                    + Array(repeating: false, count: 100 - max))
            expect(askedCount() == round * max + round - 1)
            // What is known to be there is asked for all the same.
            let known = try write("known \(round)")
            try cache.fetch([known], .listed)
            expect(cache.negatives.isMissing(strays[0].key))
            clock.now.add(59_999, ordering: .relaxed)
            expect(cache.negatives.isMissing(strays[0].key))
            expect(ask().contains(.missingFromBucket) == false)
            clock.now.add(1, ordering: .relaxed)
            expect(!cache.negatives.isMissing(strays[0].key))
        }
    }

    @Test func `a storage that was just found lost is not asked again by who finds it next`() throws
    {
        let isLost = Mutex<Set<String>>([])
        let clock = Clock()
        let notices = Notices()
        let cache = try directory.cache(
            of: base { key in isLost.withLock { $0.contains(key) } ? .dropped : .answered },
            sentinels: ["s"], clock: clock, notices: notices)
        let (negatives, failure) = (
            cache.negatives, StoreError(StoreError.Code("network"), "no answer")
        )
        store.set("s", [])
        expect(!negatives.isLost(failure) && negatives.refusal == nil)
        isLost.withLock { $0 = ["s"] }
        let count = askedCount()
        // Who finds out at the same time does not ask again.
        expect(negatives.isLost(failure) && negatives.isLost(failure) && negatives.refusal != nil)
        expect(askedCount(), equals: count + 1)
        for _ in 0..<2 { negatives.note(failure) }
        expect(notices.all.count, equals: 1)
        clock.now.add(5_000, ordering: .relaxed)
        expect(negatives.refusal == nil)
        for _ in 0..<2 { negatives.note(nil) }
        expect(notices.all.count, equals: 2)
        // What is an answer is no loss.
        expect(!negatives.isLost(StoreError(.tooLarge, "no")))
        isLost.withLock { $0 = [] }
    }
}
