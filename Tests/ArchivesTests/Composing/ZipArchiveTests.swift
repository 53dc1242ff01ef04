import Archives
import StorageTestSupport

@Suite("A composed archive") struct ZipArchiveTests {
    // Written by hand from APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16, and RFC 1951, section 3.2.4.
    static let golden = """
        50 4b 03 04  14 00  00 00  00 00  00 00 21 00  86 a6 10 36  05 00 00 00  05 00 00 00  05 00  00 00
        61 2e 74 78 74  68 65 6c 6c 6f
        50 4b 03 04  14 00  00 00  08 00  00 00 21 00  86 a6 10 36  0a 00 00 00  05 00 00 00  07 00  00 00
        62 69 6e 2f 72 75 6e  01 05 00 fa ff 68 65 6c 6c 6f
        50 4b 03 04  14 00  00 08  00 00  00 00 21 00  00 00 00 00  00 00 00 00  00 00 00 00  02 00  00 00
        c3 bc
        50 4b 01 02  14 03  14 00  00 00  00 00  00 00 21 00  86 a6 10 36  05 00 00 00  05 00 00 00  05 00  00 00
        00 00  00 00  00 00  00 00 a4 81  00 00 00 00  61 2e 74 78 74
        50 4b 01 02  14 03  14 00  00 00  08 00  00 00 21 00  86 a6 10 36  0a 00 00 00  05 00 00 00  07 00  00 00
        00 00  00 00  00 00  00 00 ed 81  28 00 00 00  62 69 6e 2f 72 75 6e
        50 4b 01 02  14 03  14 00  00 08  00 00  00 00 21 00  00 00 00 00  00 00 00 00  00 00 00 00  02 00  00 00
        00 00  00 00  00 00  00 00 a4 81  57 00 00 00  c3 bc
        50 4b 05 06  00 00  00 00  03 00  03 00  98 00 00 00  77 00 00 00  00 00
        """

    static func address(_ byte: UInt8) throws -> ObjectID {
        try require(ObjectID(bytes: [UInt8](repeating: byte, count: 32)))
    }

    static func member(_ path: String, byteCount: Int64 = 0, content: ZipMember.Content? = nil)
        throws
        -> ZipMember
    {
        ZipMember(
            path: path, byteCount: byteCount, crc32: 0, content: try content ?? .object(address(1)))
    }

    static func small() throws -> ComposedArchive {
        let hello = Array("hello".utf8)
        let run = ZipMember(
            path: "bin/run", isExecutable: true, byteCount: 5, crc32: 0x3610_a686,
            content: .deflatedCopy(try address(2), byteCount: 10))
        return try ComposedArchive(
            [member("ü"), run, ZipMember(path: "a.txt", bytes: hello)],
            contents: [address(1): [], address(2): [0x01, 0x05, 0x00, 0xfa, 0xff] + hello])
    }

    @Test func `has the bytes that the specification gives, for ever`() throws {
        let hex = Self.golden.split(whereSeparator: \.isWhitespace).joined()
        try expect(Hex.string(Self.small().bytes()), equals: hex)
        try expect(Self.small().archive.byteCount, equals: Int64(hex.count / 2))
        // 4.3.16: the end of the central directory record alone.
        let empty = try ComposedArchive([:])
        try expect(
            Hex.string(empty.bytes()), equals: "504b0506" + String(repeating: "0", count: 36))
    }

    @Test func `every range of it is that slice of the whole`() throws {
        let composed = try Self.small()
        let whole = try composed.bytes()
        var wrong: [Range<Int>] = []
        for lower in 0...whole.count {
            for upper in lower...whole.count
            where try composed.bytes(Int64(lower)..<Int64(upper)) != Array(whole[lower..<upper]) {
                wrong.append(lower..<upper)
            }
        }
        expect(wrong.isEmpty)
        // What is beyond its end is left out.
        let count = Int64(whole.count)
        try expect(composed.bytes(count - 2..<count + 9), equals: [0, 0])
        expect(composed.archive.pieces(in: count..<count + 9).isEmpty)
    }

    @Test func `its bytes and its tag follow its members, whatever their order`() throws {
        let small = try Self.small().archive
        let turned = try ZipArchive(small.members.reversed())
        expect(turned, equals: small)
        try expect(turned.entityTag(), equals: small.entityTag())
        var tags: Set<String> = [try small.entityTag()]
        func change(_ position: Int, _ body: (inout ZipMember) throws -> Void) throws {
            var members = small.members
            try body(&members[position])
            tags.insert(try ZipArchive(members).entityTag())
        }
        try change(0) { $0.isExecutable = true }
        try change(0) { $0 = ZipMember(path: "a.txt", bytes: Array("hallo".utf8)) }
        try change(1) { $0.path = "bin/ran" }
        try change(1) { $0.content = .deflatedCopy(try Self.address(3), byteCount: 10) }
        try change(1) { $0.content = .object(try Self.address(2)) }
        try change(2) { $0.content = .object(try Self.address(3)) }
        expect(tags.count, equals: 7)
    }

    @Test func `65,535 files are the most, and a byte of such an archive costs a look-up`() throws {
        var members: [ZipMember] = []
        for number in 10_000..<75_535 {
            members.append(try Self.member("d\(number / 1000)/\(number)"))
        }
        let archive = try ZipArchive(members)
        expect(archive.members.count, equals: 65_535)
        var offsets = stride(from: Int64(0), to: archive.byteCount, by: 1021).map { $0 }
        offsets.append(archive.byteCount - 1)
        let isOneByte = offsets.allSatisfy { offset in
            guard case .bytes(let bytes)? = archive.pieces(in: offset..<offset + 1).first else {
                return false
            }
            return bytes.count == 1
        }
        expect(isOneByte)
        members.append(try Self.member("one more"))
        expectRefusal(.unsupported, saying: "65536 files") { try ZipArchive(members) }
    }

    @Test func `four gibibytes less one byte are the most, in a file and in all`() throws {
        let most: Int64 = 0xFFFF_FFFF
        func isRefused(_ members: [ZipMember]) -> Bool {
            do throws(StoreError) {
                _ = try ZipArchive(members)
                return false
            } catch {
                return error.code == .unsupported
            }
        }
        let deflatedCopy = try Self.address(2)
        // 30 bytes of local header, 46 of central header, 22 of end record, twice the name.
        try expect(!isRefused([Self.member("a", byteCount: most - 100)]))
        try expect(isRefused([Self.member("a", byteCount: most - 99)]))
        try expect(
            !isRefused([
                Self.member(
                    "a", byteCount: most, content: .deflatedCopy(deflatedCopy, byteCount: 5))
            ]))
        try expect(
            isRefused([
                Self.member(
                    "a", byteCount: most + 1, content: .deflatedCopy(deflatedCopy, byteCount: 5))
            ]))
        let half = most / 2
        try expect(
            !isRefused([
                Self.member("a", byteCount: half - 200), Self.member("b", byteCount: half),
            ]))
        try expect(
            isRefused([Self.member("a", byteCount: half), Self.member("b", byteCount: half)]))
        let largest = try ZipArchive([Self.member("a", byteCount: most - 100)])
        expect(largest.byteCount, equals: most)
        expect(largest.pieces(in: most - 22..<most).count, equals: 1)
        expect(
            largest.pieces(in: most - 72..<most - 68),
            equals: [
                .object(try Self.address(1), range: most - 103..<most - 100, size: most - 100),
                .bytes([0x50]),
            ])
    }

    @Test func `a name that leads elsewhere or stands twice is refused and named`() throws {
        let lists = [
            [""], ["/a"], ["a//b"], ["a/"], ["./a"], ["a/."], ["../a"], ["a/../b"], ["a\\b"],
            ["a\0b"],
            [String(repeating: "n", count: 65_536)],
            ["a", "b", "a"], ["a", "a-b", "a/b"], ["a/b/c", "a/b"], ["x/é/b", "x/é", "x/ê"],
        ]
        for paths in lists {
            let members = try paths.map { try Self.member($0) }
            expectRefusal(.unsupported, "\(paths)", saying: "\"") { try ZipArchive(members) }
        }
        // Two spellings of one name are two names, and a directory is no file.
        let fine = [
            "e\u{301}", "\u{e9}", "a-b", "a/b", "ab", "...", "a b", "C:x",
            String(repeating: "n", count: 65_535),
        ]
        try expect(ZipArchive(fine.map { try Self.member($0) }).members.count, equals: fine.count)
        let wrong = ZipMember(path: "a", byteCount: 3, crc32: 0, content: .bytes([1]))
        #expect(throws: StoreError.self) { try ZipArchive([wrong]) }
    }
}
