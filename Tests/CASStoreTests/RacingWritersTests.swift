import CASStore
import Foundation
import StorageTestSupport
import Testing
import VersionTree

/// Writers of one object that meet at the worst moment, and a writer whose disk fails half-way.
@Suite struct RacingWritersTests {
    static let text = "the same content, wanted by several processes at once"
    static let content = bytes(text)

    func address() throws -> ObjectID { try CASStoreTests.address(of: Self.content) }

    func makeWriter(_ store: Store, _ lease: borrowing Lease) throws -> ObjectWriter {
        try store.makeWriter(
            for: address(), byteCount: Int64(Self.content.count), protectedBy: lease)
    }

    @Test func `a writer that gets the lock late does not write into the published object`()
        throws
    {
        let temporary = try TemporaryStore()
        let address = try address()
        let disk = FaultyFileSystem()
        let second = try temporary.reopened(on: disk).store
        let lease = try second.makeLease()
        // Between the second writer's open and its lock, the first writes, publishes and is gone.
        disk.on(.before, .lock, path: "/staging/\(address)") {
            #expect(throws: Never.self) { _ = try temporary.put(Self.text) }
        }
        let writer = Boxed(try makeWriter(second, lease))
        try writer.restart()
        let seen = try Damage.contents(temporary.objectPath(address))
        #expect(seen == Self.content)
        try writer.append(Self.content)
        let last = code { _ = try writer.commit() }
        #expect(last == nil)
        #expect(try temporary.store.read(address, limit: 1000) == Self.content)
    }

    @Test func `a commit publishes the bytes it has verified, never another writer's`() throws {
        let temporary = try TemporaryStore()
        let address = try address()
        let disk = FaultyFileSystem()
        let second = try temporary.reopened(on: disk).store
        let third = try temporary.reopened().store
        let lease = try second.makeLease()
        // The first gives up between the second's open and its lock: the staged name goes.
        disk.on(.before, .lock, path: "/staging/\(address)") {
            #expect(throws: Never.self) {
                let lease = try temporary.store.makeLease()
                var writer = try makeWriter(temporary.store, lease)
                try writer.append(Array(Self.content.prefix(3)).span.bytes)
            }
        }
        let late = Boxed(try makeWriter(second, lease))
        // The third begins under the same name, and is half done when the second commits.
        let leaseOfThird = try third.makeLease()
        var partial: Boxed?
        let refused = code { partial = Boxed(try makeWriter(third, leaseOfThird)) }
        if refused == nil {
            try partial?.append(bytes("half of something"))
        }
        try late.restart()
        try late.append(Self.content)
        _ = code { _ = try late.commit() }
        if try temporary.store.contains(address) {
            let found = try Damage.contents(temporary.objectPath(address))
            #expect(found == Self.content)
        }
        _ = partial
    }

    @Test func `a crash between publishing and dropping the staged name costs nothing`() throws {
        let temporary = try TemporaryStore()
        let address = try address()
        let disk = FaultyFileSystem()
        let dying = try temporary.reopened(on: disk).store
        try dying.objects.makeShard(of: address)
        _ = code {
            let lease = try dying.makeLease()
            disk.arm(.stop(after: 1, of: [.link], path: "/objects/"))
            _ = try dying.put(Self.content, protectedBy: lease)
        }
        #expect(disk.hasFired)
        #expect(try Damage.contents(temporary.objectPath(address)) == Self.content)
        // The next attempt dies, too, as soon as it has changed something.
        let again = FaultyFileSystem()
        let second = try temporary.reopened(on: again).store
        _ = code {
            let lease = try second.makeLease()
            again.arm(.stop(after: 1, of: [.truncate, .write], path: "\(address)"))
            _ = try second.put(Self.content, protectedBy: lease)
        }
        let seen = try Damage.contents(temporary.objectPath(address))
        #expect(seen == Self.content)
        #expect(try temporary.put(Self.text) == address)
        #expect(try temporary.store.read(address, limit: 1000) == Self.content)
        #expect(try temporary.versions.check().findings == [])
    }

    @Test func `an append that failed half-way may be repeated`() throws {
        let temporary = try TemporaryStore()
        let address = try address()
        let disk = FaultyFileSystem()
        let store = try temporary.reopened(on: disk).store
        let lease = try store.makeLease()
        let writer = Boxed(try makeWriter(store, lease))
        // The disk fills up in the middle, and then somebody makes room.
        disk.arm(.tear(ENOSPC, at: 1, path: "/staging/"))
        #expect(code { try writer.append(Self.content) } == .outOfSpace)
        #expect(writer.offset == 0)
        let last = code {
            try writer.append(Self.content)
            _ = try writer.commit()
        }
        if last == nil {
            let found = try Damage.contents(temporary.objectPath(address))
            #expect(found == Self.content)
        } else {
            #expect(last == .mismatch)
            #expect(try store.contains(address) == false)
        }
    }

    @Test func `what is collected under a writer's hands is not recorded as there`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        let address = try address()
        let disk = FaultyFileSystem()
        let store = try temporary.reopened(on: disk).store
        let lease = try store.makeLease()
        // After the writer has published and before it records, the same content comes and goes
        // in another process.
        disk.on(.before, .sync, path: "/objects/\(address.description.prefix(2))") {
            #expect(throws: Never.self) {
                try temporary.add("1", ["f": Self.text])
                try temporary.versions.retire("1")
                _ = try temporary.store.collect()
            }
        }
        let last = code { _ = try store.put(Self.content, protectedBy: lease) }
        let held = try temporary.store.contains(address)
        let findings = try temporary.versions.check().findings
        #expect(held || last != nil)
        #expect(findings == [])
    }

    @Test func `a collection leaves the staged file of a writer that has just begun`() throws {
        let temporary = try TemporaryStore()
        let address = try address()
        do {
            let lease = try temporary.store.makeLease()
            var writer = try makeWriter(temporary.store, lease)
            try writer.append(Array(Self.content.prefix(5)).span.bytes)
            try writer.suspend()
        }
        let disk = FaultyFileSystem()
        let collecting = try temporary.reopened(on: disk).store
        let lease = try temporary.store.makeLease()
        let late = Late()
        disk.on(.before, .remove, path: "/staging/\(address)") {
            late.failure = code {
                late.writer = Boxed(
                    try temporary.store.makeWriter(
                        for: address, byteCount: Int64(Self.content.count), protectedBy: lease))
            }
        }
        _ = try collecting.collect()
        // Either the collector was first and the writer had to wait, or the file is the writer's.
        #expect(late.failure == nil || late.failure == .busy)
        guard let writer = late.writer else { return }
        let last = code {
            try writer.append(Array(Self.content.dropFirst(5)))
            _ = try writer.commit()
        }
        #expect(last == nil)
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
    private var writer: ObjectWriter?

    init(_ writer: consuming ObjectWriter) { self.writer = consume writer }

    var offset: Int64 { writer?.offset ?? -1 }
    func append(_ bytes: [UInt8]) throws { try writer?.append(bytes.span.bytes) }
    func restart() throws { try writer?.restart() }
    func commit() throws -> [String] { try writer.take()?.commit() ?? [] }
    func suspend() throws { try writer.take()?.suspend() }
}
