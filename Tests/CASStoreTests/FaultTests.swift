import StorageTestSupport

/// What continues after a call to the disk has failed.
///
/// That each verb survives each is held by ErrorTests and PowerCutTests.
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

    /// Content on its way: small and large, known by its address or not.
    static let arrive = Verb(description: "arrive") { versions, _ in
        let incoming = try IncomingContents(versions.store)
        for (number, content) in arriving.enumerated() {
            var item = try incoming.begin(
                number == 2 ? address(of: "a placeholder") : address(of: content),
                byteCount: number == 0 ? nil : Int64(content.count), isPlaceholder: number == 2)
            if item.offset > 0 { try item.restart() }
            try item.append(content.span.bytes)
            _ = try item.finish()
        }
        try incoming.commit()
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
        try versions.register(waiting(["known": "a placeholder", "old": "never to come"]))
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
            // Reading continues, and the next open writes again.
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
