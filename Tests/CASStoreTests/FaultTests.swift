import StorageTestSupport

/// The failing disk at every operation, and the process that dies after every operation.
@Suite struct FaultTests {
    static let tree = [
        "index.html": "hello", "run.sh": "#!/bin/sh", "empty": "", "lib/a.js": "shared",
        "lib/large": String(repeating: "0123456789abcdef", count: 20_000),
    ]

    /// What a verb does to a store, and how one sees that it is done.
    struct Verb: Sendable, CustomStringConvertible {
        var description: String
        var run: @Sendable (VersionStore, _ source: String) throws -> Void
        var isDone: @Sendable (VersionStore) throws -> Bool
        /// What must be there before.
        var prepare: @Sendable (VersionStore) throws -> Void = { _ in }
        /// What must hold whatever happened.
        var holds: @Sendable (VersionStore) throws -> Bool = { _ in true }
    }

    static let put = Verb(description: "put") { versions, _ in
        let lease = try versions.store.makeLease()
        _ = try versions.store.put(bytes("put under fire"), protectedBy: lease)
    } isDone: { versions in
        try versions.store.read(address(of: "put under fire"), limit: 100) != nil
    }

    static let add = Verb(description: "add") { versions, source in
        _ = try versions.add(directory: source, version: "1")
    } isDone: { versions in
        try versions.versions().first { $0.version == "1" }?.state == .materialized
    }

    static let retire = Verb(description: "retire") { versions, _ in
        try versions.retire("0")
    } isDone: { versions in
        try versions.versions().allSatisfy { $0.version != "0" }
    }

    static let collect = Verb(description: "collect") { versions, _ in
        _ = try versions.store.collect()
    } isDone: { versions in
        try versions.store.planCollection().objectCount == 0
    }

    /// Content on its way: small and large, known by its address or not.
    static let arrive = Verb(description: "arrive") { versions, _ in
        let arrivals = try Arrivals(versions.store)
        for (number, content) in arriving.enumerated() {
            var arrival = try arrivals.begin(
                number == 2 ? address(of: "a stand-in") : address(of: content),
                byteCount: number == 0 ? nil : Int64(content.count), isProvisional: number == 2)
            if arrival.offset > 0 { try arrival.restart() }
            try arrival.append(content.span.bytes)
            _ = try arrival.finish()
        }
        try arrivals.settle()
    } isDone: { versions in
        for content in arriving {
            guard try versions.store.read(address(of: content), limit: 1 << 20) == content else {
                return false
            }
        }
        return true
    }
    static let arriving = [
        bytes("small content"), SampleBytes.ramp(300_000), bytes("of unknown address"),
    ]

    static let revise = Verb(description: "revise") { versions, _ in
        try versions.revise(waiting(["known": "zero", "new": "still to come"]))
    } isDone: { versions in
        try versions.missing(of: "waiting").map(\.paths) == [["new"]]
    } prepare: { versions in
        try versions.register(waiting(["known": "a stand-in", "old": "never to come"]))
    } holds: { versions in
        let manifest = try versions.manifest(of: "waiting")
        let missing = try versions.missing(of: "waiting").map(\.paths)
        return manifest[try TreePath("new")] == nil
            ? missing == [["known"], ["old"]] : missing == [["new"]]
    }

    static func waiting(_ files: [String: String]) throws -> Manifest {
        try makeManifest("waiting", files, ordinal: 0, createdAt: 0)
    }

    /// A store with a version and some garbage, and a source beside it.
    func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try temporary.add("0", ["index.html": "zero", "lib/a.js": "shared", "x": "#!y"])
        _ = try temporary.put("garbage")
        try writeTree(temporary.directory.appending("source"), Self.tree)
        return temporary
    }

    /// Runs a verb on a disk with a fault, and looks at what must hold afterwards.
    /// - Returns: whether the fault was reached, and what was odd though it could be mended.
    func survive(
        _ verb: Verb, _ fault: FaultyFileSystem.Fault
    ) throws -> (fired: Bool, odd: [String]) {
        let temporary = try makeStore()
        try verb.prepare(temporary.versions)
        let source = temporary.directory.appending("source")
        let disk = FaultyFileSystem()
        var failure: StoreError.Code?
        var isWhole = true
        do {
            let versions = try temporary.reopened(on: disk, isDurable: false)
            disk.arm(fault)
            failure = code { try verb.run(versions, source) }
            // What cannot be removed stays, and is told.
            isWhole = versions.store.stuckLeftovers.isEmpty
        }
        let place = disk.firedAt?.description.replacing(temporary.path, with: "") ?? "the end"
        let comment: Comment = "\(verb) met \(fault) at \(place): \(String(describing: failure))"
        var odd: [String] = []
        let versions = try temporary.reopened()
        let findings = try versions.check().findings
        for finding in findings where finding.kind != .leftover {
            odd.append("\(finding.kind) after \(fault.kind) at \(place)")
        }
        if failure == nil, isWhole || verb.description != "collect" {
            try expect(verb.isDone(versions), comment)
        }
        if verb.description == "add", failure != nil, fault.kind != .stop {
            // "When it throws, the version is not there."
            let there = try versions.versions().contains { $0.version == "1" }
            if there { odd.append("there though it threw, at \(place)") }
        }
        try expect(verb.holds(versions), comment)
        _ = try versions.check(repairing: true)
        // Repeating it succeeds. What was done before it failed may say that nothing is left.
        let again = code { try verb.run(versions, source) }
        expect(again == nil || again == .noVersion, comment)
        try expect(verb.isDone(versions), comment)
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [], comment)
        if verb.description != "retire" {
            try expect(
                readTree(temporary.path + "/versions/0")["index.html"], equals: "zero", comment)
        }
        let staged = Damage.names(temporary.path + "/staging")
        if staged != [] { odd.append("still staged after \(fault.kind) at \(place)") }
        return (disk.hasFired, odd)
    }

    /// The positions of a fault until it is no longer reached, a share of them; what was odd.
    func enumerate(
        _ verb: Verb, from start: Int, _ fault: (Int) -> FaultyFileSystem.Fault,
        _ enumeration: String = #function
    ) throws -> (count: Int, odd: [String]) {
        var odd: [String] = []
        let count = try TestShare(oneIn: 6, of: "\(enumeration) \(verb)").count { point in
            let outcome = try survive(verb, fault(start + point))
            odd += outcome.odd
            return outcome.fired
        }
        return (count, odd)
    }

    /// What is known to be odd after a fault.
    func expectNothingOdd(_ odd: [String], _ verb: Verb) { expect(odd, equals: [], "\(verb)") }

    @Test(arguments: [put, retire, collect, add, arrive, revise])
    func `survives every call to the disk failing once`(verb: Verb) throws {
        let (count, odd) = try enumerate(verb, from: 1) { .fail(EIO, at: $0) }
        expect(count > 5)
        expectNothingOdd(odd, verb)
    }

    @Test(arguments: [put, retire, collect, add, arrive, revise])
    func `survives a disk that is full for a moment`(verb: Verb) throws {
        let verbs = FaultyFileSystem.Verb.allocating
        let (count, odd) = try enumerate(verb, from: 1) { .fail(ENOSPC, at: $0, of: verbs) }
        expect(count > 5)
        expectNothingOdd(odd, verb)
    }

    @Test(arguments: [put, retire, collect, add, arrive, revise])
    func `survives being killed after every call to the disk`(verb: Verb) throws {
        let (count, odd) = try enumerate(verb, from: 0) { .stop(after: $0) }
        expect(count > 5)
        expectNothingOdd(odd, verb)
    }

    @Test(arguments: [put, add, arrive, revise])
    func `survives every write torn in the middle by a full disk`(verb: Verb) throws {
        let (count, odd) = try enumerate(verb, from: 1) { .tear(ENOSPC, at: $0) }
        expect(count > 1)
        expectNothingOdd(odd, verb)
    }

    @Test func `a repair beside a running add leaves its tree alone`() throws {
        let temporary = try makeStore()
        let disk = FaultyFileSystem()
        let adding = try temporary.reopened(on: disk, isDurable: false)
        let other = try temporary.reopened()
        // The tree has its name, the version is not recorded yet. The index is locked until it is, so the
        // repair may have to wait, and must not hold up the add.
        let repair = DispatchGroup()
        disk.on(.after, .renameNew, path: "/versions/1") {
            let begun = DispatchSemaphore(value: 0)
            DispatchQueue.global().async(group: repair) {
                begun.signal()
                #expect(throws: Never.self) { _ = try other.check(repairing: true) }
            }
            begun.wait()
        }
        try Self.add.run(adding, temporary.directory.appending("source"))
        repair.wait()
        let states = try temporary.reopened().versions().map(\.state)
        expect(states, equals: [.materialized, .materialized])
    }

    // MARK: After a failed sync

    @Test(arguments: [put, add, arrive, revise])
    func `after any failed sync nothing more is written until the store is opened again`(
        verb: Verb
    ) throws {
        var position = 1
        var tolerated: [String] = []
        while true {
            let temporary = try makeStore()
            try verb.prepare(temporary.versions)
            let source = temporary.directory.appending("source")
            let disk = FaultyFileSystem()
            let versions = try temporary.reopened(on: disk, isDurable: true)
            disk.arm(.fail(EIO, at: position, of: [.sync, .syncAll]))
            let failure = code { try verb.run(versions, source) }
            guard disk.hasFired else { break }
            expect(failure, equals: .io, "sync \(position)")
            let second = code {
                let lease = try versions.store.makeLease()
                _ = try versions.store.put(bytes("more"), protectedBy: lease)
            }
            let third = code { _ = try versions.store.collect() }
            expectRefusal(saying: "unable to sync /", "Input/output error") {
                try versions.store.checkWritable()
            }
            if second != .writesRefused || third != .writesRefused {
                tolerated.append(disk.firedAt?.description ?? "")
            }
            // Reading goes on, and the next open writes again.
            try expect(versions.store.contains(address(of: "zero")))
            let reopened = try temporary.reopened()
            try verb.run(reopened, source)
            try expect(verb.isDone(reopened))
            position += 1
        }
        expect(position > 1)
        expect(tolerated, equals: [])
    }

    @Test func `every error of the disk names the path and what to do`() throws {
        for (number, expected) in [
            (ENOSPC, StoreError.Code.outOfSpace), (EDQUOT, .outOfSpace), (EIO, .io),
            (EACCES, .permission), (EROFS, .readOnly), (EMFILE, .io), (ENOMEM, .outOfMemory),
        ] {
            let temporary = try makeStore()
            let disk = FaultyFileSystem()
            let versions = try temporary.reopened(on: disk)
            disk.arm(.fail(number, at: 1, of: [.write], path: "/staging/"))
            let error = #expect(throws: StoreError.self) {
                let lease = try versions.store.makeLease()
                _ = try versions.store.put(bytes("not stored"), protectedBy: lease)
            }
            expect(error?.code, equals: expected)
            expect(error?.message.contains("/staging/"), equals: true)
            expect(error?.cause != nil)
        }
    }
}
