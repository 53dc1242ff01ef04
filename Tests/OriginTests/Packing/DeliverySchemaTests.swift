import OriginTestSupport

@Suite("The schema of castree's deliveries") struct DeliverySchemaTests {
    let schema: JSONSchema

    init() throws { schema = try JSONSchema("delivery.schema") }

    @Test("is fulfilled by every delivery that publishing writes, and its pointers fulfil theirs")
    func written() throws {
        let fixture = try PackingFixture(2, scale: 10)
        for version in ["r1", "r2"] {
            try fixture.publish(version)
            let address = try require(try fixture.pointer().releases.first?.delivery?.address)
            let bytes = try Damage.contents(
                "\(fixture.place.origin)/\(OriginLayout.path(.delivery, address))")
            try expect(schema.problems(of: bytes), equals: [])
        }
    }

    private static let address = String(repeating: "ab", count: 32)

    private static func text(_ pack: String) -> String {
        "{\"castreeDelivery\":1,\"manifest\":\"\(address)\",\"packs\":[\(pack)]}"
    }

    private static func pack(_ more: String = "") -> String {
        "{\"address\":\"\(address)\",\"bytes\":100,\"codecs\":[1],\"content\":200,\"memory\":0,"
            + "\"objects\":1,\"toc\":50\(more)}"
    }

    private static func read(_ text: String) throws -> Delivery {
        let manifest = try require(ObjectID(address))
        let version = PublishedVersion(
            name: try VersionName("1"), manifest: manifest, manifestByteCount: 10, content: manifest
        )
        return try Delivery(parsing: Array(text.utf8), of: version)
    }

    @Test(arguments: [
        text(""), text(pack()), text(pack(",\"from\":[\"\(address)\"]")),
        text(pack(",\"future\":[1]")), text(pack().replacing("[1]", with: "[1,77]")),
    ])
    func `takes what the reader takes`(_ text: String) throws {
        _ = try Self.read(text)
        try expect(schema.problems(of: text.utf8), equals: [])
    }

    @Test(arguments: [
        "[]", "{}", text("1"), text(pack().replacing("\"toc\":50", with: "\"toc\":23")),
        text(pack().replacing("\"bytes\":100", with: "\"bytes\":0")),
        text(pack().replacing("\"bytes\":100", with: "\"bytes\":1")),
        text(pack().replacing("\"bytes\":100", with: "\"bytes\":23")),
        text(pack().replacing("\"bytes\":100", with: "\"bytes\":4294967297")),
        text(pack().replacing("\"objects\":1,", with: "")),
        text(pack(",\"from\":[]")), text(pack(",\"from\":[\"abc\"]")),
        text("").replacing("\"castreeDelivery\":1", with: "\"castreeDelivery\":2"),
    ])
    func `refuses what the reader refuses`(_ text: String) throws {
        #expect(throws: StoreError.self) { try Self.read(text) }
        try expect(!schema.problems(of: text.utf8).isEmpty)
    }
}
