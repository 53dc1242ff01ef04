import OriginTestSupport

@testable import HotPush

@Suite("A pointer with epochs") struct EpochPointerTests {
    private static let digits = ChannelPointerTests.digits

    private static func text(_ more: String, log: String = ",\"log\":9") -> String {
        ChannelPointerTests.pointer(ChannelPointerTests.release.dropLast() + more + "}", more: log)
    }

    private func parse(_ text: String) throws(StoreError) -> ChannelPointer {
        try ChannelPointer(parsing: Array(text.utf8), of: .stable)
    }

    @Test func `is read and written without a byte of difference`() throws {
        let full = """
            {"castreeChannel":1,"channel":"stable","createdAt":9,"log":42,"releases":[\
            {"content":"\(Self.digits)","createdAt":5,"delivery":"\(Self.digits)","deliveryBytes":7,\
            "deliveryEpoch":8,"epoch":7,"manifest":"\(Self.digits)","manifestBytes":120,\
            "places":"\(Self.digits)","requirements":{"compatibility":"ios-3","epochs":"1"},\
            "sequence":8,"version":"1.0"},\
            {"content":"\(Self.digits)","createdAt":5,"manifest":"\(Self.digits)","manifestBytes":120,\
            "sequence":7,"version":"0.9"}],"sequence":8}

            """
        let pointer = try parse(full)
        expect(String(decoding: pointer.serialized(), as: UTF8.self), equals: full)
        expect(pointer.log, equals: 42)
        let first = try require(pointer.releases[0].version)
        expect(first.epoch == 7 && first.places == ObjectID(Self.digits))
        expect(pointer.releases[0].delivery?.epoch, equals: 8)
        expect(pointer.foreign.isEmpty && pointer.releases[0].foreign.isEmpty)
        let second = try require(pointer.releases[1].version)
        expect(second.epoch == 0 && second.places == nil)
    }

    @Test func `asks for a castree that knows epochs, and this one does`() throws {
        let release = try parse(
            Self.text(",\"epoch\":3,\"requirements\":{\"epochs\":\"1\",\"runtimeVersion\":\"2\"}")
        ).releases[0]
        // Left out wherever offers are compared or shown.
        expect(release.requirements, equals: [Requirement(kind: "runtimeVersion", value: "2")])
        expect(AppTraits().objections(to: [.knowingEpochs]).isEmpty)
        expect(!AppTraits().objections(to: [Requirement(kind: "epochs", value: "2")]).isEmpty)
        // It is written even if whoever wrote the release forgot it.
        let bytes = try parse(Self.text(",\"epoch\":3")).serialized()
        let written = try JSONValue.parse(bytes)["releases"]?.asArray?.first?["requirements"]
        expect(written?["epochs"]?.asString, equals: "1")
        // Who asks for more than this castree knows is not made to ask for less.
        let later = ",\"epoch\":3,\"requirements\":{\"epochs\":\"2\"}"
        expect(
            String(decoding: try parse(Self.text(later)).serialized(), as: UTF8.self)
                .contains("\"requirements\":{\"epochs\":\"2\"}"))
        // A release without an epoch keeps what it asks for.
        let kept = try parse(Self.text(",\"requirements\":{\"epochs\":\"1\"}")).releases[0]
        expect(kept.requirements, equals: [.knowingEpochs])
    }

    @Test func `hides an older release without epochs, as it would have without its own`() throws {
        let epoch = try parse(Self.text(",\"epoch\":3,\"requirements\":{\"epochs\":\"1\"}"))
        try expect(parse(Self.text("")).releases[0].isHidden(by: epoch.releases[0]))
    }

    static let hostile = [
        // Beyond the log: an entry raises the epoch by one at most, and the first has epoch 0.
        text(",\"epoch\":9"), text(",\"epoch\":9223372036854775807"),
        text(",\"epoch\":1", log: ""), text(",\"epoch\":1", log: ",\"log\":1"),
        // No epochs, places or logs at all.
        text(",\"epoch\":-1"), text(",\"epoch\":\"3\""), text(",\"epoch\":3.0"),
        text(",\"epoch\":null"), text(",\"epoch\":3,\"places\":\"abc\""),
        text(",\"epoch\":3,\"places\":7"), text(",\"places\":\"\(digits)\""),
        text(",\"epoch\":0,\"places\":\"\(digits)\""),
        text("", log: ",\"log\":0"), text("", log: ",\"log\":-1"), text("", log: ",\"log\":\"9\""),
        text("", log: ",\"log\":10000000000"), text("", log: ",\"log\":9,\"log\":9"),
        text(",\"epoch\":3,\"epoch\":3"),
        // One requirement too many, with that of the epoch.
        text(
            ",\"epoch\":3,\"requirements\":{"
                + (0..<32).map { "\"k\($0)\":\"\"" }.joined(separator: ",") + "}"),
        // What was shipped with the app stands nowhere.
        text(",\"epoch\":3").replacing(
            "\"content\":\"\(digits)\",\"createdAt\":5,\"manifest\":\"\(digits)\",\"manifestBytes\":120,",
            with: "\"createdAt\":5,\"embedded\":true,"
        ).replacing("\"version\":\"1.0\",", with: ""),
    ]

    @Test(arguments: hostile)
    func `is refused when it breaks a rule, by one code and in words`(_ text: String) throws {
        let error = expectRefusal(.badPointer, "\(text)") { try parse(text) }
        expect(error?.message.hasPrefix("the pointer of channel stable is refused: "), equals: true)
    }

    @Test(
        "loses no release by an impossible epoch of its packs, only these",
        arguments: ["9", "-1", "\"3\"", "null", "3.5", "9223372036854775808"])
    func packs(_ epoch: String) throws {
        let delivery = ",\"delivery\":\"\(Self.digits)\",\"deliveryBytes\":7,\"deliveryEpoch\":"
        let pointer = try parse(Self.text(delivery + epoch))
        expect(pointer.releases[0].version != nil)
        expect(pointer.releases[0].delivery == nil)
        try expect(parse(Self.text(delivery + "8")).releases[0].delivery?.epoch, equals: 8)
    }

    @Test func `is written by castree alone: nobody asks for epochs by himself`() throws {
        let place = try PublishingPlace()
        func publish(_ requirements: [Requirement]) throws -> StoreError.Code? {
            code {
                try place.publisher().publish(
                    "1", of: place.versions, as: ReleaseOffer(requirements: requirements))
            }
        }
        try expect(publish([.knowingEpochs]), equals: .badPointer)
        let many = (0..<32).map { Requirement(kind: "kind\($0)", value: "") }
        // One more stands in the pointer if the release gets an epoch.
        try expect(publish(many), equals: .badPointer)
        try expect(publish(Array(many.dropLast())) == nil)
    }

    @Test func `fulfils the schema of pointers, which refuses what the reader refuses`() throws {
        let schema = try JSONSchema("channel.schema")
        for more in [
            "", ",\"epoch\":3", ",\"epoch\":3,\"places\":\"\(Self.digits)\"",
            ",\"delivery\":\"\(Self.digits)\",\"deliveryBytes\":7,\"deliveryEpoch\":8",
        ] { try expect(schema.problems(of: Self.text(more).utf8), equals: []) }
        for more in [
            ",\"epoch\":-1", ",\"epoch\":\"3\"", ",\"epoch\":3,\"places\":7",
            ",\"places\":\"\(Self.digits)\"",
        ] { try expect(!schema.problems(of: Self.text(more).utf8).isEmpty, "\(more)") }
        try expect(!schema.problems(of: Self.text("", log: ",\"log\":0").utf8).isEmpty)
    }
}
