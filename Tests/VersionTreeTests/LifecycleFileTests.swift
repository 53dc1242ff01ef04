import StorageTestSupport

// lifecycle.json and the link `current` on a disk that others write to.

@Suite struct LifecycleFileTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        for name in ["1", "2"] { try temporary.add(name, ["f": name]) }
        try temporary.versions.activate("1")
    }

    private func kinds(repairing: Bool = false) throws -> [Finding.Kind] {
        try temporary.reopened().check(repairing: repairing).findings.map(\.kind)
    }

    @Test(arguments: [
        "", "{", "{\"format\":1,\"current\":\"../../etc\"}", "[]", "\0\0\0\0",
        "{\"format\":1,\"current\":7}",
    ])
    func `refuses to continue with a damaged file, and repair keeps what is shown`(_ text: String)
        throws
    {
        try writeFile(temporary.path + "/lifecycle.json", text)
        expectRefusal(.badLifecycle) { try temporary.versions.lifecycle() }
        expectRefusal(.badLifecycle) { try temporary.versions.activate("2") }
        expectRefusal(.badLifecycle) { try temporary.versions.boot() }
        expectRefusal(.badLifecycle) { try temporary.versions.retire("1") }
        try expect(readBytes(temporary.path + "/lifecycle.json"), equals: Array(text.utf8))
        try expect(kinds(), equals: [.damagedLifecycle])
        try expect(kinds(repairing: true), equals: [.damagedLifecycle])
        try expect(temporary.versions.lifecycle().current, equals: "1")
        try expect(temporary.shown(), equals: ["f": "1"])
        // Set aside, not deleted.
        try expect(
            snapshot(temporary.path + "/quarantine").values.contains {
                $0.content == Array(text.utf8)
            })
        try temporary.expectClean()
    }

    @Test(
        "whatever stands in place of the link current is named and set aside",
        arguments: ["empty", "full", "file", "fifo"], ["1", nil])
    func strangerInPlaceOfLink(_ kind: String, _ current: String?) throws {
        if current == nil {
            unlink(temporary.path + "/lifecycle.json")
        }
        try putInPlaceOfLink(kind)
        let findings = try temporary.versions.check().findings
        expect(findings.map(\.kind), equals: [.wrongCurrentLink])
        let noun = ["file": "a file", "fifo": "a named pipe"][kind] ?? "a directory"
        expect(findings.first?.message.contains("\(noun) stands in place") == true, "\(findings)")
        try expect(kinds(repairing: true), equals: [.wrongCurrentLink])
        let aside = try FileManager.default.contentsOfDirectory(
            atPath: temporary.path + "/quarantine")
        expect(aside.count, equals: kind == "empty" ? 0 : 1, "\(aside)")
        try temporary.expectClean()
        try temporary.versions.activate("2")
        try expect(temporary.shown(), equals: ["f": "2"])
    }

    private func putInPlaceOfLink(_ kind: String) throws {
        let path = temporary.path + "/current"
        unlink(path)
        switch kind {
        case "empty": mkdir(path, 0o755)
        case "full": try writeFile(path + "/mine", "mine")
        case "file": try writeFile(path, "mine")
        default: mkfifo(path, 0o644)
        }
    }

    @Test(arguments: ["empty", "full", "file", "fifo"], ["1", "2"])
    func `whatever stands in place of the link current gives way, and keeps what it holds`(
        _ kind: String, _ version: String
    ) throws {
        try putInPlaceOfLink(kind)
        try temporary.versions.activate(version)
        try expect(temporary.shown(), equals: ["f": version])
        let aside = try snapshot(temporary.path + "/quarantine").keys.filter {
            String(decoding: $0, as: UTF8.self).hasSuffix("mine")
        }
        expect(aside.count, equals: kind == "full" ? 1 : 0, "\(aside)")
        try temporary.expectClean()
    }

    @Test func `one repair is enough where the lifecycle is damaged, too`() throws {
        unlink(temporary.path + "/current")
        try writeFile(temporary.path + "/current/mine", "mine")
        try writeFile(temporary.path + "/lifecycle.json", "{")
        try expect(kinds(repairing: true), equals: [.damagedLifecycle])
        try temporary.expectClean()
    }

    @Test func `refuses a newer format and leaves the file`() throws {
        let text = #"{"format":2,"current":"1","somethingNew":true}"#
        try writeFile(temporary.path + "/lifecycle.json", text)
        expectRefusal(.unsupportedFormat) { try temporary.versions.activate("2") }
        expectRefusal(.unsupportedFormat) { try temporary.reopened().check(repairing: true) }
        try expect(readBytes(temporary.path + "/lifecycle.json"), equals: Array(text.utf8))
    }

    @Test func `takes a file that is gone for a damaged one while current shows something`() throws
    {
        unlink(temporary.path + "/lifecycle.json")
        expectRefusal(.badLifecycle) { try temporary.versions.activate("2") }
        try expect(kinds(), equals: [.damagedLifecycle])
        _ = try temporary.reopened().check(repairing: true)
        try expect(temporary.versions.lifecycle().current, equals: "1")
        try temporary.versions.activate("2")
        try temporary.expectClean()
    }

    @Test func `mends a link that a crash has left behind with the next change`() throws {
        unlink(temporary.path + "/current")
        symlink("versions/2", temporary.path + "/current")
        try writeFile(temporary.path + "/.current.new", "left")
        try temporary.versions.activate("1")
        try expect(temporary.shown(), equals: ["f": "1"])
        try temporary.expectClean()
    }

    @Test func `forgets versions that are not registered`() throws {
        try temporary.versions.confirm("1", token: temporary.versions.boot().token)
        let bytes = try readBytes(temporary.path + "/lifecycle.json")
        let text = String(decoding: bytes, as: UTF8.self)
            .replacingOccurrences(of: "\"current\":\"1\"", with: "\"current\":\"ghost\"")
            .replacingOccurrences(
                of: "\"knownGood\":[\"1\"]", with: "\"knownGood\":[\"phantom\",\"1\"]")
        try writeFile(temporary.path + "/lifecycle.json", text)
        let found = try temporary.reopened().check().findings
        expect(
            found.filter { $0.kind == .unknownVersion }.compactMap(\.version).sorted(),
            equals: ["ghost", "phantom"])
        expect(found.contains { $0.kind == .editedLifecycle })
        // Nobody knows what they had, and it looks like garbage.
        expectRefusal(.index) { try temporary.reopened().collect() }
        _ = try temporary.reopened().check(repairing: true)
        try expect(temporary.versions.lifecycle().current, equals: "1")
        try expect(temporary.versions.lifecycle().knownGood, equals: ["1"])
        try temporary.reopened().collect()
        try temporary.expectClean()
    }

    // A copy of a store taken while commands run has its lifecycle, but neither the tree nor the manifest, of what was
    // made current meanwhile.
    @Test func `goes back to what was shown before where the current version never came along`()
        throws
    {
        try temporary.versions.activate("2")
        try expect(temporary.versions.lifecycle().before, equals: "1")
        try temporary.versions.fileSystem.removeTree(
            temporary.versions.directories.versions.raw, "2")
        unlink(temporary.path + "/manifests/2.json")
        for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm", "current"] {
            unlink(temporary.path + "/" + name)
        }
        try expect(temporary.reopened().check().findings.contains { $0.kind == .unknownVersion })
        _ = try temporary.reopened().check(repairing: true)
        try expect(temporary.reopened().lifecycle().current, equals: "1")
        try expect(temporary.shown(), equals: ["f": "1"])
        try temporary.expectClean()
    }

    @Test func `changes nothing on disk when nothing changes`() throws {
        let before = try status(temporary.path + "/lifecycle.json")
        try temporary.versions.activate("1")
        expectRefusal(.wrongToken) { try temporary.versions.confirm("1", token: "x") }
        try expect(status(temporary.path + "/lifecycle.json"), equals: before)
    }

    // Two writers and a reader: whoever follows the link finds a whole version, always.
    @Test func `always leads to an existing tree`() throws {
        let stores = try (0..<2).map { _ in try temporary.reopened() }
        let reader = try temporary.reopened()
        let isDone = Shared(0)
        let misses = Shared<[String]>([])
        let path = temporary.path
        try together([
            {
                defer { isDone.with { $0 += 1 } }
                for _ in 0..<150 { try stores[0].activate("1") }
            },
            {
                defer { isDone.with { $0 += 1 } }
                for _ in 0..<150 { try stores[1].activate("2") }
            },
            {
                while isDone.with({ $0 }) < 2 {
                    do {
                        let text = String(
                            decoding: try readBytes(path + "/current/f"), as: UTF8.self)
                        if text != "1" && text != "2" { misses.with { $0.append("read \(text)") } }
                        let current = try reader.lifecycle().current
                        if current != "1" && current != "2" {
                            misses.with { $0.append("current \(current ?? "-")") }
                        }
                    } catch {
                        misses.with { $0.append("\(error)") }
                    }
                }
            },
        ])
        expect(misses.with { $0 }, equals: [])
        try temporary.expectClean()
    }
}
