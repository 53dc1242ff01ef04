import StorageTestSupport

/// Writers of one object that meet at the worst moment.
@Suite struct RacingWritersTests {
    static let text = "the same content, wanted by several processes at once"
    static let content = bytes(text)
    /// Too much to be in memory until it is whole: it stands in `staging/` from its first byte.
    static let large = SampleBytes.ramp(300_000)

    @Test func `a writer that gets the lock late does not write into the published object`()
        throws
    {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.large)
        let disk = FaultyFileSystem()
        let second = try temporary.reopened(on: disk).store
        // Between the second writer's open and its lock, the first writes, publishes and is gone.
        disk.on(.before, .lock, path: "/staging/\(address)") {
            #expect(throws: Never.self) {
                let lease = try temporary.store.makeLease()
                _ = try temporary.store.put(Self.large, protectedBy: lease)
            }
        }
        let writer = try Boxed(second, Self.large)
        try writer.append(Array(Self.large.prefix(3)))
        try writer.restart()
        try expect(Damage.contents(temporary.objectPath(address)), equals: Self.large)
        try writer.append(Self.large)
        let last = code { _ = try writer.commit() }
        expect(last == nil)
        try expect(temporary.store.read(address, limit: 1 << 20), equals: Self.large)
    }

    @Test func `a writer publishes the bytes it has verified, never another writer's`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.large)
        let disk = FaultyFileSystem()
        let second = try temporary.reopened(on: disk).store
        let third = try temporary.reopened().store
        // The first gives up between the second's open and its lock: the staged name goes.
        disk.on(.before, .lock, path: "/staging/\(address)") {
            #expect(throws: Never.self) {
                let first = try Boxed(temporary.store, Self.large)
                try first.append(Array(Self.large.prefix(3)))
                try first.discard()
            }
        }
        let late = try Boxed(second, Self.large)
        try late.append(Array(Self.large.prefix(3)))
        // The third begins under the same name, and is half done when the second commits.
        let partial = try Boxed(third, Self.large)
        try partial.append(bytes("half of something"))
        try late.restart()
        try late.append(Self.large)
        _ = try late.commit()
        try expect(Damage.contents(temporary.objectPath(address)), equals: Self.large)
        try partial.discard()
    }

    @Test func `a crash between publishing and dropping the staged name costs nothing`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        let disk = FaultyFileSystem()
        let markedForDeletion = try temporary.reopened(on: disk).store
        try markedForDeletion.objects.makeShard(of: address)
        _ = code {
            let lease = try markedForDeletion.makeLease()
            disk.arm(.stop(after: 1, of: [.link], path: "/objects/"))
            _ = try markedForDeletion.put(Self.content, protectedBy: lease)
        }
        expect(disk.hasFired)
        try expect(Damage.contents(temporary.objectPath(address)), equals: Self.content)
        try temporary.waitForDeadLease()
        // The next attempt dies, too, as soon as it has changed something.
        let again = FaultyFileSystem()
        let second = try temporary.reopened(on: again).store
        _ = code {
            let lease = try second.makeLease()
            again.arm(.stop(after: 1, of: [.truncate, .write], path: "\(address)"))
            _ = try second.put(Self.content, protectedBy: lease)
        }
        try expect(Damage.contents(temporary.objectPath(address)), equals: Self.content)
        try expect(temporary.put(Self.text), equals: address)
        try expect(temporary.store.read(address, limit: 1000), equals: Self.content)
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `what is collected under a writer's hands is not recorded as there`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        let address = try address(of: Self.content)
        let disk = FaultyFileSystem()
        let store = try temporary.reopened(on: disk).store
        let lease = try store.makeLease()
        try store.objects.makeShard(of: address)
        // After the writer has published and before it records, the same content comes and goes
        // in another process.
        disk.on(.after, .link, path: "/objects/\(address.description.prefix(2))") {
            #expect(throws: Never.self) {
                try temporary.add("1", ["f": Self.text])
                try temporary.versions.retire("1")
                _ = try temporary.store.collect()
            }
        }
        let last = code { _ = try store.put(Self.content, protectedBy: lease) }
        let held = try temporary.store.contains(address)
        let findings = try temporary.versions.check().findings
        expect(held || last != nil)
        expect(findings, equals: [])
    }

    @Test func `a collection leaves the staged file of a writer that has just begun`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        do {
            let writer = try Boxed(temporary.store, Self.content)
            try writer.append(Array(Self.content.prefix(5)))
            try writer.suspend()
        }
        let disk = FaultyFileSystem()
        let collecting = try temporary.reopened(on: disk).store
        let late = Late()
        disk.on(.before, .remove, path: "/staging/\(address)") {
            late.failure = code { late.writer = try Boxed(temporary.store, Self.content) }
        }
        _ = try collecting.collect()
        // Either the collector was first and the writer begins anew, or the file is the writer's.
        expect(late.failure == nil)
        let writer = try require(late.writer)
        let last = code {
            try writer.append(Array(Self.content.dropFirst(Int(writer.offset))))
            _ = try writer.commit()
        }
        expect(last == nil)
        try expect(temporary.store.read(address, limit: 1000), equals: Self.content)
    }

    /// What a hook has begun.
    ///
    /// `@unchecked`: the hook runs on the test's own thread.
    final class Late: @unchecked Sendable {
        var writer: Boxed?
        var failure: StoreError.Code?
    }
}

/// A writer in a class: closures do not take noncopyable values.
///
/// `@unchecked`: one thread uses it.
final class Boxed: @unchecked Sendable {
    private let incoming: IncomingContents
    private var item: IncomingContent?

    init(_ store: Store, _ content: [UInt8]) throws {
        let incoming = try IncomingContents(store)
        self.incoming = incoming
        item = try incoming.begin(address(of: content), byteCount: Int64(content.count))
    }

    var offset: Int64 { item?.offset ?? -1 }
    func append(_ bytes: [UInt8]) throws { try item?.append(bytes.span.bytes) }
    func restart() throws { try item?.restart() }
    func suspend() throws { try item.take()?.suspend() }
    func discard() throws { try item.take()?.discard() }
    func commit() throws -> [String] {
        _ = try item.take()?.finish()
        return try incoming.commit()
    }
}
