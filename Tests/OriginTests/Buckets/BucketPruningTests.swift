import OriginTestSupport

/// Prunes that meet, and what comes to them wrong.
@Suite struct BucketPruningTests {
    /// An origin of which a prune trims releases, and deletes their files at once.
    private func world(_ sourceStore: BucketWorld.SourceStore? = nil) throws -> BucketWorld {
        let world = try BucketWorld(sourceStore)
        try BucketFaultTests.Verb.prune.prepare(world)
        for version in ["4", "5"] { try world.publish(version) }
        return world
    }

    @Test func `a prune that another one overtakes continues from what that one has left`() throws {
        let sourceStore = try BucketWorld.SourceStore()
        let count = try TestShare(oneIn: 4).count { index in
            let world = try world(sourceStore)
            let once = Once(at: index + 1) {
                try? BucketFaultTests.Verb.prune.run(world, "two") { _ in .answered }
            }
            let pruner = world.publisher("one") { once($0) }
            #expect(throws: Never.self, "overtaken before request \(index + 1)") {
                _ = try OriginPruner(pruner).prune(keeping: 1, grace: 0)
            }
            expect(world.broken, equals: [])
            return once.wasReached
        }
        expect(count < 500)
    }

    @Test func `what was left of large files is ended after a week, and nothing else`() throws {
        let world = try world()
        let now = world.store.clock.now
        let address = String(repeating: "ab", count: 32)
        func upload(_ key: String, _ seconds: Int64) -> OpenUpload {
            OpenUpload(key: key, name: "\(key) \(seconds)", begunAt: now - seconds)
        }
        let object = "objects/ab/\(address.dropFirst(2))"
        let left = [object, "e/2/\(object)", "packs/ab/\(address.dropFirst(2))"].map {
            upload($0, 8 * 86_400)
        }
        // Somebody is at it; and what is nobody's.
        let others = [upload(object, 6 * 86_400), upload("mine.iso", 30 * 86_400)]
        world.store.openUploads = left + others
        let planned = try OriginPruner(world.publisher()).prune(
            keeping: 9, grace: 60, isDryRun: true)
        expect(planned.uploadCount == 3 && world.store.openUploads.count == 5)
        let done = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 60)
        expect(done.uploadCount == 3 && Set(world.store.openUploads) == Set(others))
    }

    @Test func `a channel that a publisher had no time to list is listed by a prune`() throws {
        let world = try world()
        #expect(throws: Never.self) {
            try world.publish(
                "4", to: "late",
                by: world.publisher("killed") { request in
                    request.key == "channels.json" ? .dropped : .answered
                })
        }
        func isListed() -> Bool {
            let bytes = world.store.files["channels.json"]?.bytes ?? []
            return String(decoding: bytes, as: UTF8.self).contains("\"late\"")
        }
        expect(!isListed())
        _ = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 60)
        expect(isListed())
        world.store.set("channels.json", nil)
        _ = try OriginPruner(world.publisher()).prune(keeping: 9, grace: 60)
        expect(isListed())
    }

    @Test func `a prune that publishers overtake lists once, and reads each manifest once`() throws
    {
        let world = try world()
        let overtaken = Atomic<Int>(0)
        let asked = Mutex<[String: Int]>([:])
        let pruner = world.publisher("one") { request in
            if [.get, .list].contains(request.verb), !request.key.hasPrefix("channels/"),
                !request.key.hasPrefix("log/")
            {
                asked.withLock { $0["\(request.verb) \(request.key)", default: 0] += 1 }
            }
            if request.verb == .putIfAbsent, request.key.hasPrefix("log/"),
                overtaken.load(ordering: .relaxed) < 4
            {
                let number = overtaken.add(1, ordering: .relaxed).newValue
                _ = try? world.publish("\(number)", to: "c\(number)")
            }
            return .answered
        }
        _ = try OriginPruner(pruner).prune(keeping: 1, grace: 3_600)
        expect(overtaken.load(ordering: .relaxed), equals: 4)
        // Before the log, and behind it.
        expect(asked.withLock { $0.filter { $0.value > ($0.key == "list " ? 2 : 1) } }, equals: [:])
        expect(world.broken, equals: [])
    }

    @Test func `a first publish that others overtake continues from what they have left`() throws {
        let sourceStore = try BucketWorld.SourceStore()
        let count = try TestShare(oneIn: 3).count { index in
            let world = try BucketWorld(sourceStore)
            let once = Once(at: index + 1) {
                // Their pointer names a manifest that does not stand where a directory has it.
                for version in ["1", "2", "3"] {
                    _ = try? world.publish(version, by: world.publisher("two"))
                    try? BucketFaultTests.Verb.prune.run(world, "two") { _ in .answered }
                }
            }
            let publisher = world.publisher("one") { once($0) }
            #expect(throws: Never.self, "overtaken before request \(index + 1)") {
                try world.publish("4", by: publisher)
            }
            expect(world.broken, equals: [])
            return once.wasReached
        }
        expect(count < 500)
    }

    @Test func `a prune asks again for a manifest that comes with other bytes than its name says`()
        throws
    {
        let world = try world()
        let turned = Once(where: { $0.verb == .get && $0.key.contains("manifests/") }, .turned)
        let pruner = world.publisher("one") { turned($0) }
        let report = try OriginPruner(pruner).prune(keeping: 1, grace: 0)
        expect(report.garbage.count > 0 && turned.wasReached)
        expect(world.broken, equals: [])
    }

    @Test func `what others have put beside castree's own scratch stays`() throws {
        let world = try world()
        let foreign = ["probe/notes.txt", "probe/\(String(repeating: "A", count: 32))", "notes/1"]
        for key in foreign { world.store.set(key, [1]) }
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        let left = world.store.files.keys.filter {
            $0.hasPrefix("probe/") || $0.hasPrefix("notes/")
        }
        expect(Set(left), equals: Set(foreign))
    }

    @Test func `who may not delete is told so, and nothing is said to be deleted`() throws {
        let world = try world()
        let clock = world.store.clock
        let bucket = world.bucket(rights: [.get, .put, .list])
        let pruner = OriginPruner(
            OriginPublisher(bucket, now: { clock.now }, pause: { _ in clock.advance(1) }))
        expectRefusal(.accessDenied, saying: "s3:DeleteObject") {
            try pruner.prune(keeping: 1, grace: 0)
        }
        // The next one continues.
        try expect(OriginPruner(world.publisher()).prune(keeping: 1, grace: 0).garbage.count > 0)
    }

    @Test func `deletions without an answer are counted as such`() throws {
        let world = try world()
        let pruner = world.publisher("one") { $0.verb == .delete ? .dropped : .answered }
        let report = try OriginPruner(pruner).prune(keeping: 1, grace: 0)
        expect(report.garbage.count == 0 && report.unknownCount > 0)
    }

    @Test(arguments: [["quoted"], ["bare"], []])
    func `a channel in which nothing happens keeps no other one from being freed`(
        spellings: Set<String>
    ) throws {
        var dialect = ModelDialect()
        dialect.tagSpellings = spellings
        let world = try BucketWorld(nil, dialect)
        try world.publish("5", to: "quiet")
        for version in ["2", "3", "4"] {
            try world.publish(version)
            _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600)
            world.store.clock.advance(3_700)
        }
        for _ in 0..<3 {
            _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600)
            world.store.clock.advance(3_700)
        }
        // 4 has d, e and f; 5 has a, b and f.
        expect(world.store.files.keys.filter { $0.contains("objects/") }.count, equals: 5)
        expect(world.broken, equals: [])
    }

    @Test
    func
        `what a prune has trimmed stays for the grace, also if that prune died before devices saw it`()
        throws
    {
        let sourceStore = try BucketWorld.SourceStore()
        for grace in [Int64(60), 3_600] {
            let world = try world(sourceStore)
            world.hold(grace: grace)
            let pruner = world.publisher("one") { request in
                request.isWrite && request.key.hasPrefix("channels/")
                    ? .end(isApplied: false) : .answered
            }
            #expect(throws: StoreError.self) {
                try OriginPruner(pruner).prune(keeping: 1, grace: grace)
            }
            for _ in 0..<4 {
                world.store.clock.advance(grace + 1)
                _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: grace)
            }
            expect(world.store.files.keys.filter { $0.contains("manifests/") }.count, equals: 1)
            expect(world.broken, equals: [])
        }
    }

    @Test func `more than fits one entry is trimmed in several`() throws {
        let world = try BucketWorld()
        for channel in ["a", "b", "c"] {
            for version in ["1", "2"] { try world.publish(version, to: channel) }
        }
        let report = try OriginPruner(world.publisher(), trimmedByteCountMax: 1)
            .prune(keeping: 1, grace: 3_600)
        expect(report.trimmedCount, equals: 3)
        try expect(["a", "b", "c"].map(world.offered), equals: [["2"], ["2"], ["2"]])
        world.expectEnd()
    }

    @Test func `where another origin stands in an epoch's place nothing is deleted`() throws {
        let world = try world()
        let inner = ["e/1/log/0000000001.json", "e/1/origin.json", "e/1/channels/stable.json"]
        for key in inner {
            let store = ModelStore(copying: world.store)
            store.set(key, [1])
            let before = store.files.keys.filter { !$0.hasPrefix("log/") }
            let pruner = OriginPruner(OriginPublisher(ModelStorage(store), pause: { _ in }))
            expectRefusal(.badOrigin, saying: key) { try pruner.prune(keeping: 1, grace: 0) }
            expect(store.files.keys.filter { !$0.hasPrefix("log/") }, equals: before)
        }
    }

    @Test func `a prune that begins one epoch spares what others are just sending`() throws {
        let prepared = try BucketWorld(offering: "1", packs: .before)
        let count = try TestShare(oneIn: 3, of: "one epoch").count { place in
            let world = BucketWorld(copying: prepared)
            let once = Once(at: place + 1) {
                // It trims nothing: one entry, and one epoch more if anything waits.
                _ = try? OriginPruner(world.publisher("two")).prune(keeping: 9, grace: 3_600)
            }
            let publisher = world.publisher(packs: .before, schedule: { once($0) })
            try world.publish("4", by: publisher)
            world.expectEnd("before request \(place + 1)")
            return once.wasReached
        }
        expect(count > 5 && count < 500)
    }
}
