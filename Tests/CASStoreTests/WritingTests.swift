import CASStore
import StorageTestSupport
import Testing
import VersionTree

/// Writing an object whose address is known: staged, verified, published, or nothing.
@Suite struct WritingTests {
    static let content = bytes("the quick brown fox jumps over the lazy dog")

    /// Writes `pieces` under `promised`'s address and size; the code of the error, if any.
    func write(
        _ pieces: [[UInt8]], promised: [UInt8] = content, labels: [Label] = [],
        to temporary: TemporaryStore
    ) throws -> StoreError.Code? {
        let address = try address(of: promised)
        return code {
            let lease = try temporary.store.makeLease()
            var writer = try temporary.store.makeWriter(
                for: address, byteCount: Int64(promised.count), labels: labels,
                protectedBy: lease)
            for piece in pieces { try writer.append(piece.span.bytes) }
            _ = try writer.commit()
        }
    }

    func expectNothing(in temporary: TemporaryStore, of promised: [UInt8] = content) throws {
        let address = try address(of: promised)
        #expect(try temporary.store.contains(address) == false)
        #expect(Damage.names(temporary.path + "/objects").filter { $0.contains("/") } == [])
        #expect(temporary.staged == [])
        #expect(try temporary.versions.check().findings == [])
    }

    @Test func `a commit publishes exactly the bytes`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        let pieces = [Array(Self.content.prefix(7)), [], Array(Self.content.dropFirst(7))]
        #expect(try write(pieces, to: temporary) == nil)
        let address = try address(of: Self.content)
        #expect(try Damage.contents(temporary.objectPath(address)) == Self.content)
        #expect(try Damage.mode(temporary.objectPath(address)) == 0o444)
        #expect(temporary.staged == [])
        #expect(try temporary.versions.check(CheckOptions(isDeep: true)).findings == [])
    }

    @Test func `nothing is visible before the commit`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        let lease = try temporary.store.makeLease()
        var writer = try temporary.store.makeWriter(
            for: address, byteCount: Int64(Self.content.count), protectedBy: lease)
        try writer.append(Self.content.span.bytes)
        #expect(try temporary.store.contains(address) == false)
        #expect(try temporary.store.read(address, limit: 100) == nil)
        _ = try writer.commit()
        #expect(try temporary.store.contains(address))
    }

    @Test func `wrong bytes of the right length are refused`() throws {
        for position in [0, 20, Self.content.count - 1] {
            let temporary = try TemporaryStore()
            var wrong = Self.content
            wrong[position] ^= 1
            #expect(try write([wrong], to: temporary) == .mismatch)
            try expectNothing(in: temporary)
        }
    }

    @Test func `too few bytes are refused`() throws {
        for count in [0, 1, Self.content.count - 1] {
            let temporary = try TemporaryStore()
            #expect(try write([Array(Self.content.prefix(count))], to: temporary) == .mismatch)
            try expectNothing(in: temporary)
        }
    }

    @Test func `too many bytes are refused when they come`() throws {
        let temporary = try TemporaryStore()
        #expect(try write([Self.content, [0]], to: temporary) == .mismatch)
        try expectNothing(in: temporary)
        #expect(try write([Self.content + [0]], to: temporary) == .mismatch)
        try expectNothing(in: temporary)
    }

    @Test func `bytes that are refused are not written, and the right ones may follow`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        let lease = try temporary.store.makeLease()
        var writer = try temporary.store.makeWriter(
            for: address, byteCount: Int64(Self.content.count), protectedBy: lease)
        try writer.append(Array(Self.content.prefix(10)).span.bytes)
        do {
            try writer.append(Self.content.span.bytes)
            Issue.record("more than promised was taken")
        } catch { #expect(error.code == .mismatch) }
        #expect(writer.offset == 10)
        try writer.append(Array(Self.content.dropFirst(10)).span.bytes)
        _ = try writer.commit()
        #expect(try temporary.store.read(address, limit: 100) == Self.content)
    }

    @Test func `an empty object is one like any other`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        #expect(try write([], promised: [], to: temporary) == nil)
        #expect(try temporary.store.read(address(of: []), limit: 0) == [])
        #expect(try write([[1]], promised: [], to: temporary) == .mismatch)
        #expect(temporary.staged == [])
        #expect(try temporary.versions.check().findings == [])
    }

    @Test func `a wrong size beside the right address is refused`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        for size in [0, Self.content.count + 1] {
            let found = code {
                let lease = try temporary.store.makeLease()
                var writer = try temporary.store.makeWriter(
                    for: address, byteCount: Int64(size), protectedBy: lease)
                if size > 0 { try writer.append(Self.content.span.bytes) }
                _ = try writer.commit()
            }
            #expect(found == .mismatch)
            try expectNothing(in: temporary)
        }
    }

    @Test func `a writer that restarts forgets what came before`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        let lease = try temporary.store.makeLease()
        var writer = try temporary.store.makeWriter(
            for: address, byteCount: Int64(Self.content.count), protectedBy: lease)
        try writer.append(bytes("rubbish").span.bytes)
        try writer.restart()
        #expect(writer.offset == 0)
        try writer.append(Self.content.span.bytes)
        _ = try writer.commit()
        #expect(try temporary.store.read(address, limit: 100) == Self.content)
    }

    @Test func `right labels are accepted, a wrong one refuses the object`() throws {
        let abc = bytes("abc")
        for (algorithm, hex) in LabelTests.digests {
            let right = try #require(Label(algorithm, hex: hex))
            let temporary = try TemporaryStore()
            #expect(try write([abc], promised: abc, labels: [right], to: temporary) == nil)

            var digest = right.bytes
            digest[digest.count - 1] ^= 0x80
            let wrong = try #require(Label(algorithm, bytes: digest))
            let other = try TemporaryStore()
            #expect(
                try write([abc], promised: abc, labels: [right, wrong], to: other) == .mismatch)
            try expectNothing(in: other, of: abc)
        }
    }

    @Test func `a full disk leaves nothing staged when a writer is refused`() throws {
        let temporary = try TemporaryStore()
        let full = try VersionStore.open(
            temporary.path, options: StoreOptions(reservedByteCount: 1 << 60))
        let address = try address(of: Self.content)
        let found = code {
            let lease = try full.store.makeLease()
            _ = try full.store.makeWriter(
                for: address, byteCount: Int64(Self.content.count), protectedBy: lease)
        }
        #expect(found == .outOfSpace)
        #expect(temporary.staged == [])
    }
}
