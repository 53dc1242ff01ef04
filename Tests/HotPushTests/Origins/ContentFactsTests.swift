import OriginTestSupport

@testable import HotPush

@Suite("Facts of a version's objects") struct ContentFactsTests {
    static let (first, second) = (digits("0a"), digits("ab"))
    static let deflatedCopy = digits("cd")
    static let md5 = String(repeating: "5f", count: 16)

    static func digits(_ pair: String) -> String { String(repeating: pair, count: 32) }

    static let objects = """
        {"address":"\(first)","bytes":0,"crc32":0,"md5":"\(md5)"},\
        {"address":"\(second)","bytes":9007199254740991,"crc32":4294967295,"md5":"\(md5)",\
        "twin":"\(deflatedCopy)","twinBytes":17}
        """

    static func text(_ objects: String = objects) -> String {
        "{\"castreeFacts\":1,\"objects\":[\(objects)]}\n"
    }

    private func parse(_ text: String) throws(StoreError) -> ContentFacts {
        try ContentFacts(parsing: Array(text.utf8))
    }

    @Test func `have one spelling, in which they are written and read`() throws {
        let address = { (text: String) throws in try require(ObjectID(text)) }
        let facts = ContentFacts([
            ObjectFacts(
                address: try address(Self.second), byteCount: 9_007_199_254_740_991,
                crc32: .max, md5: Self.md5,
                deflatedCopy: Reference(address: try address(Self.deflatedCopy), byteCount: 17)),
            ObjectFacts(
                address: try address(Self.first), byteCount: 0, crc32: 0, md5: Self.md5,
                deflatedCopy: nil),
        ])
        expect(String(decoding: facts.serialized(), as: UTF8.self), equals: Self.text())
        try expect(parse(Self.text()), equals: facts)
        try expect(parse(Self.text("")).objects.isEmpty)
        let schema = try JSONSchema("facts.schema")
        try expect(schema.problems(of: facts.serialized()), equals: [])
        expect(facts[try address(Self.second)]?.crc32, equals: .max)
        expect(facts[try address(Self.deflatedCopy)] == nil && ContentFacts([])[.zero] == nil)
        let bytes = facts.serialized()
        try expect(ContentFacts(bytes, named: ObjectID(of: bytes)), equals: facts)
        #expect(throws: StoreError.self) { try ContentFacts(bytes, named: .zero) }
    }

    @Test func `find each of many objects`() throws {
        var objects: [ObjectFacts] = []
        for number in 0..<300 {
            objects.append(
                ObjectFacts(
                    address: try address(of: "\(number)"), byteCount: Int64(number), crc32: 1,
                    md5: Self.md5, deflatedCopy: nil))
        }
        let facts = ContentFacts(objects)
        expect(objects.allSatisfy { facts[$0.address] == $0 })
        try expect(facts[address(of: "300")] == nil)
    }

    @Test func `are refused in any other spelling, and if they break a rule`() throws {
        let text = Self.text()
        let objects = Self.objects
        var refused = ["", "[]", "{}", "null", String(text.dropLast()), text + "\n", " " + text]
        for (part, other) in [
            ("\"castreeFacts\":1", "\"castreeFacts\":2"),
            ("\"castreeFacts\":1", "\"castreeFacts\":1.0"),
            ("{\"castreeFacts\":1,", "{"), ("{\"castreeFacts\":1", "{\"a\":1,\"castreeFacts\":1"),
            ("\"bytes\":0", "\"bytes\":-1"), ("\"bytes\":0", "\"bytes\":0,\"bytes\":0"),
            ("\"bytes\":0", "\"bytes\":\"0\""), ("\"bytes\":0,", ""),
            ("9007199254740991", "9007199254740992"), ("4294967295", "4294967296"),
            ("\"crc32\":0", "\"crc32\":-1"), ("\"md5\":\"5f", "\"md5\":\"5F"),
            ("\"md5\":\"5f", "\"md5\":\""), (",\"twinBytes\":17", ""),
            ("\"twin\":\"\(Self.deflatedCopy)\",", ""), ("\"twinBytes\":17", "\"twinBytes\":0"),
            ("\"twinBytes\":17", "\"twinBytes\":9007199254740991"), (Self.first, Self.second),
            (Self.first, Self.digits("ff")), (Self.first, "0A"),
            ("\"bytes\":0", "\"more\":[[[[]]]]"),
            (objects, objects + ","), ("\"objects\":[", "\"objects\":{"),
        ] {
            refused.append(text.replacing(part, with: other, maxReplacements: 1))
        }
        for text in refused {
            expectRefusal(.damagedOrigin, "\(text)") { try parse(text) }
        }
        let line = "{\"address\":\"\(Self.first)\",\"bytes\":0,\"crc32\":0,\"md5\":\"\(Self.md5)\"}"
        let many = Array(repeating: line, count: 3).joined(separator: ",")
        expectRefusal(.damagedOrigin) { try parse(Self.text(many)) }
    }

    @Test(
        "are named by a release, kept when it is offered again, and never by what was shipped with the app"
    )
    func pointer() throws {
        let release = ChannelPointerTests.release("facts", "\"\(Self.deflatedCopy)\"")
        let read = { (text: String) throws(StoreError) -> ChannelPointer in
            try ChannelPointer(parsing: Array(text.utf8), of: .stable)
        }
        let pointer = try read(ChannelPointerTests.pointer(release))
        expect(pointer.releases[0].facts?.address.description, equals: Self.deflatedCopy)
        try expect(read(String(decoding: pointer.serialized(), as: UTF8.self)), equals: pointer)
        var again = pointer.releases[0]
        again.facts = nil
        expect(pointer.offering(again, now: 9) == nil)
        again.isMandatory = true
        expect(
            pointer.offering(again, now: 9)?.releases[0].facts?.address.description,
            equals: Self.deflatedCopy)
        for wrong in ["7", "null", "\"\"", "\"\(Self.deflatedCopy)0\""] {
            let text = ChannelPointerTests.pointer(ChannelPointerTests.release("facts", wrong))
            expectRefusal(.badPointer) { try read(text) }
        }
        let embedded =
            "{\"createdAt\":4,\"embedded\":true,\"facts\":\"\(Self.deflatedCopy)\",\"sequence\":3}"
        expectRefusal(.badPointer) { try read(ChannelPointerTests.pointer(embedded)) }
    }
}
