import StorageTestSupport

/// Writing an object whose address is known: verified, published, or nothing.
@Suite struct WritingTests {
    static let content = bytes("the quick brown fox jumps over the lazy dog")

    /// Brings `content` under its own address; the code of the error, if any.
    func write(
        _ content: [UInt8], labels: [Label] = [], to temporary: TemporaryStore
    ) -> StoreError.Code? {
        code {
            let incoming = try IncomingContents(temporary.store)
            _ = try bring(content, incoming, labels: labels)
            try incoming.commit()
        }
    }

    func expectNothing(in temporary: TemporaryStore, of promised: [UInt8] = content) throws {
        let address = try address(of: promised)
        try expect(temporary.store.contains(address), equals: false)
        expect(Damage.names(temporary.path + "/objects").filter { $0.contains("/") }, equals: [])
        expect(temporary.staged, equals: [])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `bytes that are refused are not written, and the right ones may follow`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(address, byteCount: Int64(Self.content.count))
        try item.append(Array(Self.content.prefix(10)).span.bytes)
        do {
            try item.append(Self.content.span.bytes)
            Issue.record("more than promised was taken")
        } catch { expect(error.code, equals: .mismatch) }
        expect(item.offset, equals: 10)
        try item.append(Array(Self.content.dropFirst(10)).span.bytes)
        _ = try item.finish()
        try incoming.commit()
        try expect(temporary.store.read(address, limit: 100), equals: Self.content)
    }

    @Test func `a wrong size beside the right address is refused`() throws {
        let temporary = try TemporaryStore()
        let address = try address(of: Self.content)
        for size in [0, Self.content.count + 1] {
            let found = code {
                let incoming = try IncomingContents(temporary.store)
                var item = try incoming.begin(address, byteCount: Int64(size))
                if size > 0 { try item.append(Self.content.span.bytes) }
                _ = try item.finish()
            }
            expect(found, equals: .mismatch)
            try expectNothing(in: temporary)
        }
    }

    @Test func `right labels are accepted, a wrong one refuses the object`() throws {
        let abc = bytes("abc")
        for (algorithm, hex) in LabelTests.digests {
            let right = try require(Label(algorithm, hex: hex))
            let temporary = try TemporaryStore()
            expect(write(abc, labels: [right], to: temporary) == nil)

            var digest = right.bytes
            digest[digest.count - 1] ^= 0x80
            let wrong = try require(Label(algorithm, bytes: digest))
            let other = try TemporaryStore()
            expect(write(abc, labels: [right, wrong], to: other), equals: .mismatch)
            try expectNothing(in: other, of: abc)
        }
    }
}
