import StorageTestSupport

@testable import CASStore

/// A repair acts later than it has looked.
///
/// What others have brought in between is theirs.
@Suite("Beside a repair") struct RepairRaceTests {
    static let text = "content that comes back at the worst moment"

    struct Harm: Sendable, CustomStringConvertible {
        var description: String
        var happen: @Sendable (String) throws -> Void
    }

    // Of another size, so that an add writes the content anew instead of believing in what stands.
    static let harms: [Harm] = [
        .init(description: "cut short") { try Damage.truncate($0, to: 5) },
        .init(description: "deleted") { Damage.remove($0) },
        .init(description: "a fifo") { try Damage.replace($0, by: .fifo) },
        .init(description: "a symbolic link") {
            try Damage.replace($0, by: .symbolicLink("/etc/hostname"))
        },
    ]

    private func makeStore() throws -> (TemporaryStore, path: String) {
        let temporary = try TemporaryStore(adding: "1", ["a": Self.text, "b": "other"])
        return (temporary, temporary.objectPath(try address(of: Self.text)))
    }

    private func expectWhole(_ temporary: TemporaryStore, _ names: [String]) throws {
        let versions = try temporary.reopened()
        for name in names {
            try expect(
                versions.versions().first { $0.version == name }?.state, equals: .materialized)
            try expect(readTree(temporary.path + "/versions/" + name)["a"], equals: Self.text)
        }
        try expect(versions.check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test(arguments: harms)
    func `content that comes between the look and the operation stays`(harm: Harm) throws {
        let (temporary, path) = try makeStore()
        try harm.happen(path)
        let second = try temporary.reopened()
        let source = temporary.directory.appending("again")
        try writeTree(source, ["a": Self.text])
        let repairing = try temporary.reopened()
        let came = Counter()
        _ = try repairing.check(
            CheckOptions { _ in
                guard came.next() == 1 else { return }
                // Confirmed, and not yet repaired.
                #expect(throws: Never.self) { try second.add(directory: source, version: "2") }
            }, repairing: true)
        expect(came.count > 0)
        try expectWhole(temporary, ["1", "2"])
    }

    @Test
    func `content that comes before a stranger frees space for what is fetched stays`() throws {
        let (temporary, path) = try makeStore()
        try Damage.replace(path, by: .fifo)
        let source = temporary.directory.appending("again")
        try writeTree(source, ["a": Self.text])
        let second = try temporary.reopened()
        let versions = try temporary.reopened()
        // Whoever is asked for it has nothing.
        _ = try versions.repair(from: RepairSource { (_) throws(StoreError) in [] }) { _ in
            #expect(throws: Never.self) { try second.add(directory: source, version: "2") }
            return true
        }
        try expectWhole(temporary, ["1", "2"])
    }

    @Test(
        arguments: harms.filter { $0.description != "deleted" })
    func `content that is published while its place is cleared stays`(harm: Harm) throws {
        let (temporary, path) = try makeStore()
        try harm.happen(path)
        let content = try address(of: Self.text)
        let second = try temporary.reopened().store
        let staged = try Staged(Self.text, in: temporary, second)
        let disk = FaultyFileSystem()
        let repairing = try temporary.reopened(on: disk, isDurable: false)
        disk.on(.before, .rename, path: "/quarantine/\(content)") {
            // Nobody's lock keeps a writer from giving a file its name.
            #expect(throws: Never.self) { try staged.publish() }
        }
        _ = try repairing.check(repairing: true)
        disk.onEach(nil)
        expect(staged.isPublished)
        try expect(Damage.contents(path), equals: bytes(Self.text))
        // It records what it has published.
        _ = try second.writing { (index) throws(StoreError) in
            try index.setPresent(staged.object)
            return try index.completeVersions()
        }
        for version in try temporary.reopened().versions() {
            try temporary.reopened().materialize(version.version)
        }
        try expectWhole(temporary, ["1"])
    }

    @Test(
        "what is collected between the look and the operation is not recorded as there",
        arguments: [true, false])
    func collecting(isKnown: Bool) throws {
        let temporary = try TemporaryStore()
        let content = try temporary.put(Self.text)
        if isKnown {
            try temporary.changeUnnoticed("UPDATE object SET fingerprint = x'\(zeros)', bytes = 3")
        } else {
            try temporary.changeUnnoticed("DELETE FROM object")
        }
        let second = try temporary.reopened()
        let repairing = try temporary.reopened()
        let kinds = Kinds()
        _ = try repairing.check(
            CheckOptions { finding in
                guard kinds.note(finding.kind) == 1 else { return }
                #expect(throws: Never.self) {
                    do {
                        let lease = try second.store.makeLease()
                        _ = try second.store.put(bytes(Self.text), protectedBy: lease)
                    }
                    _ = try second.store.collect()
                }
            }, repairing: true)
        expect(kinds.all.first, equals: (isKnown ? .wrongFingerprint : .unindexedObject))
        try expect(second.store.contains(content), equals: false)
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    private var zeros: String { String(repeating: "0", count: 32) }

    @Test(arguments: [true, false])
    func `an add does not promise what a repair has taken away meanwhile`(isNamed: Bool) throws {
        let temporary = try TemporaryStore()
        // Named by a version, or garbage whose row goes with it.
        if isNamed {
            try temporary.add("1", ["a": Self.text])
        } else {
            _ = try temporary.put(Self.text)
        }
        let path = temporary.objectPath(try address(of: Self.text))
        let source = temporary.directory.appending("again")
        try writeTree(source, ["a": Self.text])
        let disk = FaultyFileSystem()
        let adding = try temporary.reopened(on: disk)
        let second = try temporary.reopened()
        let took = Counter()
        // Its tree is built, and shows what stood there: an add looks at an object before it links it.
        disk.on(.before, .status, path: "/versions/2") {
            #expect(throws: Never.self) {
                try Damage.flip(path, at: 3)
                let found = try second.check(repairing: true).findings
                if found.map(\.kind) == [.damagedObject] { _ = took.next() }
            }
        }
        try adding.add(directory: source, version: "2")
        disk.onEach(nil)
        expect(took.count, equals: 1)
        try expectWhole(temporary, isNamed ? ["1", "2"] : ["2"])
    }

    @Test("what a dead writer left torn is not mistaken for what another has brought since")
    func recovering() throws {
        let temporary = try TemporaryStore()
        let content = try address(of: Self.text)
        let path = temporary.objectPath(content)
        let staged = try Staged(Self.text, in: temporary, try temporary.reopened().store)
        // Published by a writer that died, and torn by a power cut.
        let lease = "4711-0123456789abcdef"
        let own = temporary.path + "/staging/" + lease
        for directory in [own, URL(filePath: path).deletingLastPathComponent().path] {
            try Damage.makeDirectory(directory)
        }
        try Damage.overwriteOrCreate(path, with: bytes("torn"))
        try FileManager.default.linkItem(atPath: path, toPath: own + "/\(content)")
        _ = try temporary.leaveDeadLease(lease)
        let disk = FaultyFileSystem()
        let digits = content.description
        disk.onEach { timing, operation in
            // Judged, and about to go: by its name, or aside.
            let isLast =
                operation.verb == .remove && operation.path == path
                || operation.verb == .rename && operation.path.contains(digits)
            guard timing == .before, isLast, !staged.isPublished else { return }
            #expect(throws: Never.self) { try staged.publish() }
        }
        _ = try temporary.reopened(on: disk).store.makeLease()
        disk.onEach(nil)
        expect(staged.isPublished)
        try expect(Damage.contents(path), equals: bytes(Self.text))
        expect(!Damage.names(temporary.path + "/staging").contains { $0.hasPrefix(lease) })
    }

    @Test
    func `what a dead writer left whole and others collect is not recorded as there`() throws {
        let temporary = try TemporaryStore()
        let content = try temporary.put(Self.text)
        let path = temporary.objectPath(content)
        // Recorded by a writer that died before it could drop the staged name.
        try FileManager.default.linkItem(
            atPath: path, toPath: temporary.path + "/staging/\(content)")
        let disk = FaultyFileSystem()
        let recovering = try temporary.reopened(on: disk)
        let second = try temporary.reopened()
        let shard = URL(filePath: path).deletingLastPathComponent().path
        disk.on(.before, .sync, path: shard) {
            #expect(throws: Never.self) { _ = try second.store.collect() }
        }
        _ = try recovering.store.makeLease()
        disk.onEach(nil)
        expect(!FileManager.default.fileExists(atPath: path))
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test
    func `what a killed check or repair has written aside goes with the next repair`() throws {
        let (temporary, path) = try makeStore()
        let left = [
            ".verified.0123456789abcdef", ".last-check.json.0123456789abcdef",
            "staging/.restored-0123456789abcdef",
        ]
        for name in left { try Damage.overwriteOrCreate(temporary.path + "/" + name, with: [1]) }
        Damage.remove(path)
        _ = try temporary.reopened().check(repairing: true)
        let names = Damage.names(temporary.path)
        expect(left.filter { names.contains($0) }, equals: [])
    }

    @Test func `a partial object that another has begun anew is no collector's to remove`() throws {
        let temporary = try TemporaryStore()
        let content = try address(of: Self.text)
        let path = temporary.path + "/staging/\(content)"
        try Damage.overwriteOrCreate(path, with: [1])
        let disk = FaultyFileSystem()
        let collecting = try temporary.reopened(on: disk).store
        disk.on(.before, .lock, path: path) {
            // Its writer publishes it, and the next one begins.
            Damage.remove(path)
            #expect(throws: Never.self) { try Damage.overwriteOrCreate(path, with: [2]) }
        }
        _ = try collecting.collect()
        disk.onEach(nil)
        try expect(Damage.contents(path), equals: [2])
    }
}

/// How often something has happened.
private final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func next() -> Int {
        value.withLock {
            $0 += 1
            return $0
        }
    }
}

private final class Kinds: Sendable {
    private let kinds = Mutex<[Finding.Kind]>([])
    var all: [Finding.Kind] { kinds.withLock { $0 } }
    func note(_ kind: Finding.Kind) -> Int {
        kinds.withLock {
            $0.append(kind)
            return $0.count
        }
    }
}

/// A writer that has staged and reserved content, and gives it its name when it is told to.
private final class Staged: Sendable {
    let object: StoredObject
    private let batch: ObjectBatch
    private let lease: Lease
    private let publications = Mutex(0)

    init(_ text: String, in temporary: TemporaryStore, _ store: Store) throws {
        let lease = try store.makeLease()
        let batch = try ObjectBatch(store, lease: lease)
        let path = temporary.directory.appending("to-stage")
        try Data(text.utf8).write(to: URL(filePath: path))
        let file = try store.fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .reading, mode: 0)
        var checker = try ObjectChecker()
        let object = try batch.stage(file.raw, name: "large", checker: &checker, again: true).object
        try store.reserve(count: 1, { _ in object.address }, lease: lease)
        self.lease = lease
        self.batch = batch
        self.object = object
    }

    var isPublished: Bool { publications.withLock { $0 > 0 } }

    func publish() throws {
        publications.withLock { $0 += 1 }
        let address = object.address
        try batch.publish(count: 1) { _ in address }
    }
}
