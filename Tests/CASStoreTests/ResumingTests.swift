import CASStore
import StorageTestSupport
import Testing
import VersionTree

/// Staged bytes: dropped, suspended, continued, torn, contended.
@Suite struct ResumingTests {
    static let content = SampleBytes.ramp(600_000)

    func makeWriter(
        _ store: Store, _ lease: borrowing Lease, of content: [UInt8] = content
    ) throws -> ObjectWriter {
        try store.makeWriter(
            for: address(of: content), byteCount: Int64(content.count), protectedBy: lease)
    }

    @Test func `a dropped writer leaves nothing`() throws {
        let temporary = try TemporaryStore()
        do {
            let lease = try temporary.store.makeLease()
            var writer = try makeWriter(temporary.store, lease)
            try writer.append(Array(Self.content.prefix(1000)).span.bytes)
            #expect(temporary.staged.count == 1)
        }
        #expect(Damage.names(temporary.path + "/staging") == [])
        #expect(try temporary.versions.check().findings == [])
    }

    @Test(arguments: [0, 1, 262_144, 599_999, 600_000])
    func `a suspended writer is continued by another process`(count: Int) throws {
        let temporary = try TemporaryStore(isDurable: true)
        do {
            let lease = try temporary.store.makeLease()
            var writer = try makeWriter(temporary.store, lease)
            try writer.append(Array(Self.content.prefix(count)).span.bytes)
            try writer.suspend()
        }
        let other = try temporary.reopened().store
        let lease = try other.makeLease()
        var writer = try makeWriter(other, lease)
        #expect(writer.offset == Int64(count))
        try writer.append(Array(Self.content.dropFirst(count)).span.bytes)
        _ = try writer.commit()
        #expect(try other.read(address(of: Self.content), limit: 1 << 20) == Self.content)
        #expect(temporary.staged == [])
    }

    @Test func `what is suspended is not visible, and no finding`() throws {
        let temporary = try TemporaryStore()
        do {
            let lease = try temporary.store.makeLease()
            var writer = try makeWriter(temporary.store, lease)
            try writer.append(Self.content.span.bytes)
            try writer.suspend()
        }
        #expect(try temporary.store.contains(address(of: Self.content)) == false)
        #expect(try temporary.versions.check().findings == [])
        #expect(try temporary.store.usage().stagedBytes == 600_000)
    }

    @Test func `a staged file that is longer than the object starts over`() throws {
        let temporary = try TemporaryStore()
        let staged = try temporary.path + "/staging/" + address(of: Self.content).description
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: Self.content + [0])
        let lease = try temporary.store.makeLease()
        var writer = try makeWriter(temporary.store, lease)
        #expect(writer.offset == 0)
        try writer.append(Self.content.span.bytes)
        _ = try writer.commit()
        #expect(try temporary.store.read(address(of: Self.content), limit: 1 << 20) == Self.content)
    }

    @Test func `a torn staged file is never published, and the next attempt starts over`() throws {
        let temporary = try TemporaryStore()
        let store = temporary.store
        let staged = try temporary.path + "/staging/" + address(of: Self.content).description
        // A power cut has left a hole where data had been.
        var torn = Array(Self.content.prefix(300_000))
        torn.replaceSubrange(4096..<8192, with: [UInt8](repeating: 0, count: 4096))
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: torn)
        let lease = try store.makeLease()
        let found = code {
            var writer = try makeWriter(store, lease)
            #expect(writer.offset == 300_000)
            try writer.append(Array(Self.content.dropFirst(300_000)).span.bytes)
            _ = try writer.commit()
        }
        #expect(found == .mismatch)
        #expect(try store.contains(address(of: Self.content)) == false)
        var writer = try makeWriter(store, lease)
        #expect(writer.offset == 0)
        try writer.append(Self.content.span.bytes)
        _ = try writer.commit()
        #expect(try store.read(address(of: Self.content), limit: 1 << 20) == Self.content)
    }

    @Test func `put starts over what somebody has staged`() throws {
        let temporary = try TemporaryStore()
        let staged = try temporary.path + "/staging/" + address(of: "abc").description
        try Damage.replace(staged, by: .emptyFile)
        try Damage.extend(staged, by: bytes("xy"))
        let address = try temporary.put("abc")
        #expect(try temporary.store.read(address, limit: 3) == bytes("abc"))
    }

    @Test func `a second writer of the same object is told to wait`() throws {
        let temporary = try TemporaryStore()
        let other = try temporary.reopened().store
        let lease = try temporary.store.makeLease()
        var writer = try makeWriter(temporary.store, lease)
        try writer.append(Array(Self.content.prefix(10)).span.bytes)
        let second = try other.makeLease()
        let answers = [
            code { _ = try makeWriter(other, second) },
            code { _ = try makeWriter(temporary.store, lease) },
        ]
        #expect(answers == [.busy, .busy])
        // The refusal has not disturbed the first.
        try writer.append(Array(Self.content.dropFirst(10)).span.bytes)
        _ = try writer.commit()
        #expect(try other.read(address(of: Self.content), limit: 1 << 20) == Self.content)
        // Its turn has come: writing again what is there changes nothing.
        var again = try makeWriter(other, second)
        #expect(again.offset == 0)
        try again.append(Self.content.span.bytes)
        _ = try again.commit()
        #expect(try temporary.versions.check().findings == [])
    }

    @Test func `a commit completes the version that waits for the object`() throws {
        let temporary = try TemporaryStore()
        let source = try TemporaryStore()
        try source.add("1", ["a": "one", "b": "two"])
        let manifest = try source.versions.manifest(of: "1")
        #expect(try temporary.versions.register(manifest) == false)
        #expect(try temporary.versions.versions().map(\.state) == [.incomplete])
        var completed: [[String]] = []
        for missing in try temporary.versions.missing(of: "1") {
            let content = try #require(try source.store.read(missing.address, limit: 100))
            let lease = try temporary.store.makeLease()
            var writer = try temporary.store.makeWriter(
                for: missing.address, byteCount: missing.bytes, protectedBy: lease)
            try writer.append(content.span.bytes)
            completed.append(try writer.commit())
        }
        #expect(completed == [[], ["1"]])
        #expect(try temporary.versions.missing(of: "1") == [])
        #expect(try temporary.versions.check().findings == [])
    }
}
