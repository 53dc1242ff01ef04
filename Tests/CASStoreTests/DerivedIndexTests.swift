import StorageTestSupport

/// The index is derived: whatever becomes of its file, the store answers as before.
@Suite struct DerivedIndexTests {
    /// A store with something of everything: versions, one incomplete, one current, one known good,
    /// one banned, a partial object and garbage.
    static func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        try temporary.add("1", ["index.html": "one", "lib/a.js": "shared", "run": "#!x", "e": ""])
        try temporary.add("2", ["index.html": "two", "lib/a.js": "shared"])
        var many: [String: String] = [:]
        for file in 0..<80 { many["many/\(file)"] = "content \(file)" }
        try temporary.add("3", many)
        try versions.makeKnownGood("1")
        try versions.activate("2")
        _ = try versions.rollback(reason: "a test")
        let source = try TemporaryStore(adding: "4", ["x": "not here", "y": "one"])
        try versions.register(source.versions.manifest(of: "4"))
        var item = try IncomingContents(temporary.store).begin(
            address(of: "not here"), byteCount: 8)
        try item.append(bytes("not").span.bytes)
        try item.suspend()
        _ = try temporary.put("garbage")
        return temporary
    }

    /// Damages a store and expects the same answers from the next open.
    func expectSame(
        rebuilt: Bool? = true, _ temporary: TemporaryStore, _ comment: Comment? = nil,
        after damage: (TemporaryStore) throws -> Void
    ) throws {
        let before = try Answers(temporary.reopened())
        expect(before.findings, equals: [], comment)
        let partials = temporary.staged
        try damage(temporary)
        let notices = Notices()
        let after = try Answers(temporary.reopened(notice: notices.sink))
        expect(after.versions, equals: before.versions, comment)
        expect(after.lifecycle, equals: before.lifecycle, comment)
        // A check may say that it found the index so, and that it is made again.
        let left = after.findings.filter { $0.kind != .damagedIndex || !$0.isRepaired }
        expect(left, equals: [], comment)
        expect(temporary.staged, equals: partials, comment)
        if let rebuilt {
            expect(notices.all.isEmpty != rebuilt, "\(comment ?? ""): \(notices.all)")
        }
        // The process that has it open continues, too.
        try expect(temporary.versions.versions(), equals: before.versions, comment)
        _ = try temporary.store.collect()
        try expect(
            temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [], comment)
    }

    /// What becomes of the index or its stamp.
    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Whether it is made again; `nil` where that may be.
        var rebuilt: Bool? = true
        var make: @Sendable (TemporaryStore) throws -> Void
    }

    private static let strangers: [Damage.Stranger] = [
        .nothing, .emptyFile, .directory, .fifo, .socket, .symbolicLink("nowhere"),
    ]

    static let changes: [Change] =
        strangers.map { stranger in
            Change(testDescription: "\(stranger) in place of the index") {
                try Damage.replace($0.indexPath, by: stranger)
            }
        }
        + [.nothing, .directory, .fifo, .socket, .symbolicLink("/etc/hostname")].map { stranger in
            Change(testDescription: "\(stranger) in place of the stamp") {
                try Damage.replace($0.stampPath, by: stranger)
            }
        }
        + ["", "\n", "castree-stamp 1 x 1 1 1 1\n", "\0\0\0\0", "noise noise noise"].map { text in
            Change(testDescription: "\(text.debugDescription) in the stamp") {
                try Damage.overwrite($0.stampPath, with: bytes(text))
            }
        }
        + ["-wal", "-shm"].map { suffix in
            Change(testDescription: "a leftover index\(suffix)", rebuilt: nil) {
                try Data(repeating: 7, count: 8192).write(to: URL(filePath: $0.indexPath + suffix))
            }
        } + [
            Change(testDescription: "text after the index's end", rebuilt: nil) {
                try Damage.extend($0.indexPath, by: bytes("more"))
            },
            Change(testDescription: "neither index nor stamp") { temporary in
                Damage.remove(temporary.indexPath)
                Damage.remove(temporary.stampPath)
            },
        ]

    @Test(arguments: changes)
    func `deleting the index loses nothing, nor does whatever else becomes of it or its stamp`(
        change: Change
    ) throws {
        try expectSame(rebuilt: change.rebuilt, Self.makeStore(), after: change.make)
    }

    @Test func `a check names an index that it found damaged, and not one that was absent`()
        throws
    {
        let temporary = try Self.makeStore()
        for stranger in [
            Damage.Stranger.directory, .fifo, .socket, .symbolicLink("nowhere"), .emptyFile,
        ] {
            try Damage.replace(temporary.indexPath, by: stranger)
            let findings = try temporary.reopened().check().findings
            expect(findings.map(\.kind), equals: [.damagedIndex], "\(stranger)")
            expect(findings.map(\.path), equals: ["index.sqlite"], "\(stranger)")
            expect(findings.allSatisfy { $0.isRepaired && !$0.message.isEmpty }, "\(stranger)")
            try expect(temporary.reopened().check().findings, equals: [], "\(stranger)")
        }
        let size = try Damage.contents(temporary.indexPath).count
        try Damage.truncate(temporary.indexPath, to: size - 4096)
        let findings = try temporary.reopened().check().findings
        expect(findings.map(\.kind), equals: [.damagedIndex])
        expect(findings.map(\.isRepaired), equals: [true])

        Damage.remove(temporary.indexPath)
        try expect(temporary.reopened().check().findings, equals: [])
        Damage.remove(temporary.indexPath)
        Damage.remove(temporary.stampPath)
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test func `a symbolic link in place of the index is not followed`() throws {
        let temporary = try Self.makeStore()
        let foreign = temporary.directory.appending("foreign")
        try writeTree(temporary.directory.path, ["foreign": "somebody's"])
        try expectSame(temporary) { try Damage.replace($0.indexPath, by: .symbolicLink(foreign)) }
        try expect(Damage.contents(foreign), equals: bytes("somebody's"))
    }

    @Test func `cutting the index anywhere loses nothing`() throws {
        let temporary = try Self.makeStore()
        let size = try Damage.contents(temporary.indexPath).count
        for length in [0, 1, 15, 16, 99, 100, 511, 512, 4095, 4096, 4097, 8192]
            + Array(stride(from: 12_288, to: size, by: 7_777)) + [size - 4096, size - 1]
        where length < size {
            try expectSame(temporary, "cut to \(length) of \(size)") {
                try Damage.truncate($0.indexPath, to: length)
            }
        }
    }

    @Test func `noise in the index loses nothing`() throws {
        var random = SeededRandom()
        let temporary = try Self.makeStore()
        let size = try Damage.contents(temporary.indexPath).count
        // The whole, the header, each page.
        var ranges = [0..<size, 0..<100, 0..<16, 16..<100]
        for page in 0..<(size / 4096) { ranges.append(page * 4096..<(page + 1) * 4096) }
        for range in ranges {
            let now = try Damage.contents(temporary.indexPath).count
            guard range.upperBound <= now else { continue }
            // Without its header it is no index at all, whenever it was written.
            let rebuilt: Bool? = range.lowerBound < 100 ? true : nil
            try expectSame(rebuilt: rebuilt, temporary, "noise in \(range), seed \(random.seed)") {
                var content = try Damage.contents($0.indexPath)
                content.replaceSubrange(range, with: random.bytes(range.count))
                try Damage.overwrite($0.indexPath, with: content)
            }
        }
    }

    @Test func `a foreign journal loses nothing`() throws {
        // What SQLite would roll back into our file, were it ours: pages of another index.
        let foreign = try Self.makeStore()
        try foreign.add("5", ["more": "content of another store"])
        let journal = try foreign.withIndex { connection in
            try connection.execute(
                "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
                    + "UPDATE object SET refs = refs + 1; UPDATE version SET bytes = bytes + 1")
            let journal = try Damage.contents(foreign.indexPath + "-journal")
            try connection.execute("ROLLBACK")
            return journal
        }
        expect(journal.count > 4096)
        for content in [journal, Array(journal.prefix(1000)), [UInt8](repeating: 9, count: 4096)] {
            try expectSame(rebuilt: nil, Self.makeStore(), "\(content.count) bytes") {
                try Damage.overwriteOrCreate($0.indexPath + "-journal", with: content)
            }
        }
    }

    @Test(arguments: ["add", "retire", "collect", "activate", "put", "register"])
    func `yesterday's index is noticed`(verb: String) throws {
        let temporary = try Self.makeStore()
        let yesterday = try Damage.contents(temporary.indexPath)
        switch verb {
        case "add": try temporary.add("5", ["new": "new content"])
        case "retire": try temporary.versions.retire("3")
        case "collect": _ = try temporary.store.collect()
        case "put": _ = try temporary.put("new content")
        case "register":
            let source = try TemporaryStore(adding: "6", ["x": "not here either"])
            try temporary.versions.register(source.versions.manifest(of: "6"))
        default: try temporary.versions.activate("3")
        }
        // Activating is no business of the index: there yesterday's is today's.
        try expectSame(rebuilt: verb == "activate" ? nil : true, temporary, "\(verb)") {
            try Damage.overwrite($0.indexPath, with: yesterday)
        }
    }

    @Test(arguments: ["add", "retire", "collect", "put"])
    func `yesterday's index and stamp together lose nothing`(verb: String) throws {
        let temporary = try Self.makeStore()
        let yesterday = try Damage.contents(temporary.indexPath)
        let stamp = try Damage.contents(temporary.stampPath)
        switch verb {
        case "add": try temporary.add("5", ["new": "new content"])
        case "retire": try temporary.versions.retire("3")
        case "collect": _ = try temporary.store.collect()
        default: _ = try temporary.put("new content")
        }
        try expectSame(rebuilt: nil, temporary, "\(verb)") {
            try Damage.overwrite($0.indexPath, with: yesterday)
            try Damage.overwrite($0.stampPath, with: stamp)
        }
    }

    @Test func `an index of another program or an older schema is made again`() throws {
        for pragma in ["application_id = 1", "user_version = 0"] {
            try expectSame(Self.makeStore(), "\(pragma)") { try $0.change("PRAGMA \(pragma)") }
        }
    }

    @Test func `an index of a newer castree is refused, and objects are read all the same`()
        throws
    {
        let temporary = try Self.makeStore()
        try temporary.change("PRAGMA user_version = 99")
        let before = try Damage.contents(temporary.indexPath)
        let versions = try temporary.reopened()
        expect(code { _ = try versions.versions() }, equals: .unsupportedFormat)
        expect(code { _ = try versions.store.collect() }, equals: .unsupportedFormat)
        expect(code { _ = try versions.check() }, equals: .unsupportedFormat)
        try expect(versions.store.read(address(of: "one"), limit: 10), equals: bytes("one"))
        try expect(Damage.contents(temporary.indexPath), equals: before)
    }

    @Test func `a manifest that vanishes while the index is made again is no error`() throws {
        let temporary = try Self.makeStore()
        Damage.remove(temporary.indexPath)
        let disk = FaultyFileSystem()
        // Another process retires version 3: the file goes between its listing and its reading.
        disk.on(.before, .open, path: "/manifests/3.json") {
            Damage.remove(temporary.path + "/manifests/3.json")
        }
        let found = code {
            let versions = try temporary.reopened(on: disk).versions()
            expect(versions.map(\.version).sorted(), equals: ["1", "2", "4"])
        }
        expect(found == nil)
    }

    @Test(arguments: [Damage.Stranger.symbolicLink("/etc/hostname"), .directory, .fifo, .socket])
    func `something odd in place of a manifest does not stop the store`(
        stranger: Damage.Stranger
    ) throws {
        let temporary = try Self.makeStore()
        try Damage.replace(temporary.path + "/manifests/3.json", by: stranger)
        let found = code {
            let versions = try temporary.reopened()
            try expect(versions.versions().map(\.version).contains("1"))
            try expect(versions.check().findings.map(\.kind).contains(.damagedManifest))
        }
        expect(found == nil)
    }

    @Test func `an index that grows while another process opens it is not taken for a cut one`()
        throws
    {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        let disk = FaultyFileSystem()
        let notices = Notices()
        let other = try temporary.reopened(on: disk, notice: notices.sink)
        var many: [String: String] = [:]
        for file in 0..<300 { many["\(file)"] = "content \(file)" }
        let files = many
        disk.on(.after, .status, path: "/index.sqlite", occurrence: 2) {
            #expect(throws: Never.self) { try temporary.add("2", files) }
        }
        try expect(other.versions().count >= 1)
        expect(notices.all, equals: [])
    }

    @Test func `a read-only disk without an index is read from the manifests`() throws {
        let temporary = try Self.makeStore()
        let before = try temporary.versions.versions()
        Damage.remove(temporary.indexPath)
        let disk = FaultyFileSystem()
        let versions = try temporary.reopened(on: disk)
        disk.arm(.refuseChanges)
        let answers = Held2<[VersionSummary]>()
        let found = code { answers.value = try versions.versions() }
        expect(found == nil)
        expect(answers.value, equals: before)
    }

    final class Held2<Value> { var value: Value? }
}
