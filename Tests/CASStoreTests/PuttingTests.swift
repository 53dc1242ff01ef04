import StorageTestSupport

/// Putting bytes that are in memory.
@Suite struct PuttingTests {
    @Test(arguments: [0, 1, 4095, 4096, 4097, 262_143, 262_144, 262_145, 1_000_000])
    func `what is put is read back, with mode 0444 and one link`(count: Int) throws {
        let temporary = try TemporaryStore(isDurable: true)
        let store = temporary.store
        let content = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let lease = try store.makeLease()
        let address = try store.put(content, protectedBy: lease)
        try expect(address, equals: StorageTestSupport.address(of: content))
        try expect(store.read(address, limit: count), equals: content)
        try expect(store.contains(address))
        let path = temporary.objectPath(address)
        try expect(Damage.contents(path), equals: content)
        try expect(Damage.mode(path), equals: 0o444)
        try expect(store.objects.status(address)?.linkCount, equals: 1)
        expect(temporary.staged, equals: [])
    }

    @Test(arguments: ["directory", "link", "fifo", "other bytes", "file as shard"])
    func `what comes again takes the place of whatever else stands there`(_ kind: String) throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("again")
        let path = temporary.objectPath(address)
        let shard = (path as NSString).deletingLastPathComponent
        switch kind {
        case "directory":
            try Damage.replace(path, by: .directory)
            try Damage.overwriteOrCreate(path + "/somebody", with: bytes("mine"))
        case "link": try Damage.replace(path, by: .symbolicLink("/etc/hostname"))
        case "fifo": try Damage.replace(path, by: .fifo)
        case "other bytes":
            try Damage.replace(path, by: .emptyFile)
            try Damage.overwrite(path, with: bytes("wrong"))
        default:
            Damage.remove(shard)
            try Damage.overwriteOrCreate(shard, with: bytes("mine"))
        }
        let incoming = try IncomingContents(temporary.store)
        _ = try bring(bytes("again"), incoming)
        try incoming.commit()
        try expect(temporary.store.read(address, limit: 10), equals: bytes("again"))
        try expect(Damage.mode(path), equals: 0o444)
        expect(temporary.staged, equals: [])
        try expect(
            temporary.versions.check().findings.filter { $0.kind != .unindexedObject }, equals: [])
    }

    @Test func `an open object is read in pieces, and beyond its end there is nothing`() throws {
        let temporary = try TemporaryStore()
        let content = SampleBytes.ramp(700_000)
        let lease = try temporary.store.makeLease()
        let address = try temporary.store.put(content, protectedBy: lease)
        let held = try Held(temporary.store, address)
        expect(held.reader.byteCount, equals: 700_000)
        try expect(held.reader.read(at: 699_990, count: 100), equals: Array(content.suffix(10)))
        try expect(held.reader.read(at: 700_000, count: 1), equals: [])
        try expect(held.reader.read(at: 1 << 60, count: 1), equals: [])
        try expect(held.reader.read(at: 5, count: 0), equals: [])
        var seen: [UInt8] = []
        try held.reader.forEachPiece { piece in piece.withUnsafeBytes { seen += Array($0) } }
        expect(seen, equals: content)
    }

    @Test func `what is not there is nil, not an error`() throws {
        let store = try TemporaryStore().store
        let nothing = try address(of: "never put")
        try expect(store.contains(nothing), equals: false)
        try expect(store.read(nothing, limit: 10) == nil)
        if try store.open(nothing) != nil { Issue.record("something was opened") }
    }

    @Test func `a limit below the size is an error, the size itself is not`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("12345")
        expect(code { _ = try temporary.store.read(address, limit: 4) }, equals: .tooLarge)
        try expect(temporary.store.read(address, limit: 5), equals: bytes("12345"))
    }

    @Test func `an open object stays readable when it is collected`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("soon gone")
        let held = try Held(temporary.store, address)
        try expect(temporary.store.collect().objectCount, equals: 1)
        try expect(temporary.store.contains(address), equals: false)
        try expect(held.reader.read(at: 0, count: 100), equals: bytes("soon gone"))
    }

    @Test func `reading needs neither the index nor a write`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("served from a broken disk")
        try Damage.replace(temporary.indexPath, by: .directory)
        let disk = FaultyFileSystem()
        disk.arm(.refuseChanges)
        let store = try temporary.reopened(on: disk).store
        try expect(store.contains(address))
        try expect(store.read(address, limit: 100), equals: bytes("served from a broken disk"))
        expect(!disk.hasFired, "\(disk.trace)")
    }
}

enum SampleBytes {
    static func ramp(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count { bytes += period.prefix(count - bytes.count) }
        return bytes
    }

    private static let period = (0..<65_536).map { UInt8(truncatingIfNeeded: $0 ^ ($0 >> 8)) }
}

/// A reader in a class, so that `#expect` can name it: macros do not take noncopyable values.
final class Held: Sendable {
    let reader: ObjectReader
    init(_ store: Store, _ address: ObjectID) throws {
        guard let reader = try store.open(address) else {
            throw StoreError(.missingObject, "object \(address) cannot be opened")
        }
        self.reader = reader
    }
}
