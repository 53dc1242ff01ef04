import OriginTestSupport

@testable import HotPush

/// Where the objects of a release stand, as a file says it that may come from anywhere.
@Suite("The places of a release's objects") struct PlacesTests {
    private static func text(_ runs: String, more: String = "") -> String {
        "{\"castreePlaces\":1,\"runs\":[\(runs)]\(more)}"
    }

    /// Reads places of ten objects for a release of epoch 7 that names exactly these bytes.
    private static func read(_ bytes: [UInt8], count: Int = 10) throws -> Places {
        var published = PublishedVersion(
            name: try VersionName("1"), manifest: .zero, manifestByteCount: 10, content: .zero)
        published.epoch = 7
        published.places = try ObjectID(of: bytes)
        return try Places(bytes, of: published, count: count)
    }

    private static func read(_ text: String, count: Int = 10) throws -> Places {
        try read(Array(text.utf8), count: count)
    }

    @Test func `are runs of neighbours, written without a byte to spare and read again`() throws {
        let epochs: [Int64] = [7, 7, 7, 0, 0, 5, 7, 7, 7, 7]
        let places = Places(epochs)
        let bytes = places.serialized()
        expect(
            String(decoding: bytes, as: UTF8.self),
            equals: "{\"castreePlaces\":1,\"runs\":[[7,3],[0,2],[5,1],[7,4]]}\n")
        let read = try Self.read(bytes)
        expect(read, equals: places)
        expect(read.count, equals: 10)
        expect((0..<10).map { read.epoch(of: $0) }, equals: epochs)
    }

    @Test func `are needed only where an object stands in another epoch than its release`() {
        expect(!Places([7, 7] as [Int64]).areNeeded(in: 7))
        expect(!Places([] as [Int64]).areNeeded(in: 7))
        expect(Places([7, 6] as [Int64]).areNeeded(in: 7))
        expect(Places([6, 6] as [Int64]).areNeeded(in: 7))
    }

    @Test func `tell the epoch of each of many objects`() throws {
        var random = SeededRandom(seed: 3)
        let epochs = (0..<20_000).map { _ in Int64(random.next() % 8) }
        let read = try Self.read(Places(epochs).serialized(), count: epochs.count)
        expect(epochs.indices.map { read.epoch(of: $0) }, equals: epochs)
    }

    static let taken = [
        text("[7,10]"), text("[7,3],[0,7]"), text("[7,3],[7,7]"), text(" [0 , 10] "),
        text("[7,10]", more: ",\"future\":{\"a\":[[1]]}"),
        "{\"runs\":[[6,10]],\"castreePlaces\":1}",
    ]

    @Test(arguments: taken)
    func `are taken in any spelling, with fields of a newer castree`(_ text: String) throws {
        let places = try Self.read(text)
        expect(places.count, equals: 10)
        try expect(Self.read(places.serialized()), equals: places)
    }

    static let hostile = [
        // Sums.
        text(""), text("[7,9]"), text("[7,11]"), text("[7,5],[0,6]"), text("[7,10],[0,1]"),
        text("[7,0],[0,10]"), text("[7,-1],[0,11]"), text("[7,9223372036854775807],[7,11]"),
        text("[7,9223372036854775808]"), text("[7,1e1]"), text("[7,10.0]"), text("[7,\"10\"]"),
        // Epochs.
        text("[8,10]"), text("[-1,10]"), text("[7,5],[9223372036854775807,5]"), text("[7.0,10]"),
        // Shapes.
        text("[7]"), text("[7,5,5]"), text("[]"), text("10"), text("[[7,10]]"), text("{}"),
        text("[7,10],"), "[]", "{}", "7", "", "{\"castreePlaces\":1}", "{\"runs\":[[7,10]]}",
        text("[7,10]").replacing("[[", with: "{\"a\":[").replacing("]]", with: "]}"),
        text("[7,10]") + "x",
        // Formats, duplicates, depth.
        text("[7,10]").replacing("Places\":1", with: "Places\":2"),
        text("[7,10]").replacing("Places\":1", with: "Places\":\"1\""),
        text("[7,10]", more: ",\"runs\":[[0,10]]"), text("[7,10]", more: ",\"castreePlaces\":1"),
        text("[7,10]", more: ",\"\\u0072uns\":[[0,10]]"),
        text(
            "[7,10]",
            more: ",\"x\":" + String(repeating: "[", count: 60)
                + String(repeating: "]", count: 60)),
    ]

    @Test(arguments: hostile)
    func `are refused when they break a rule, by one code and in words`(_ text: String) throws {
        let error = expectRefusal(.damagedOrigin, "\(text)") { try Self.read(text) }
        expect(
            error?.message.hasPrefix("the places of the objects of version 1 are refused: "),
            equals: true
        )
    }

    @Test func `are refused when they are others than the release names`() throws {
        var published = PublishedVersion(
            name: try VersionName("1"), manifest: .zero, manifestByteCount: 10, content: .zero)
        published.epoch = 7
        let bytes = Places(repeatElement(7, count: 10)).serialized()
        expectRefusal(.damagedOrigin) { try Places(bytes, of: published, count: 10) }
        published.places = .zero
        expectRefusal(.damagedOrigin) { try Places(bytes, of: published, count: 10) }
    }

    @Test func `are refused beyond 4 MiB`() throws {
        let count = Int(Places.byteCountMax)
        let spaces = String(repeating: " ", count: count - Self.text("[7,10]").utf8.count)
        try expect(Self.read(Self.text("[7,10]") + spaces).count, equals: 10)
        expectRefusal(.damagedOrigin) { try Self.read(Self.text("[7,10]") + spaces + " ") }
    }

    @Test("fulfil their schema, which refuses what the reader refuses whatever the release")
    func schema() throws {
        let schema = try JSONSchema("places.schema")
        for text in Self.taken {
            try expect(schema.problems(of: text.utf8), equals: [], "\(text)")
        }
        for text in [
            Self.text("[7]"), Self.text("[7,5,5]"), Self.text("[7,-1]"), Self.text("[-1,10]"),
            Self.text("[7,\"10\"]"), Self.text("10"), "{}", "[]", "{\"castreePlaces\":1}",
            Self.text("[7,10]").replacing("Places\":1", with: "Places\":2"),
        ] {
            try expect(!schema.problems(of: text.utf8).isEmpty, "\(text)")
        }
    }
}
