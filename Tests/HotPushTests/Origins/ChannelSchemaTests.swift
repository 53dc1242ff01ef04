import OriginTestSupport

@Suite("The schema of castree's channel pointers") struct ChannelSchemaTests {
    let schema: JSONSchema

    init() throws { schema = try JSONSchema("channel.schema") }

    @Test("is fulfilled by every pointer that publishing, withdrawing and collecting write")
    func written() throws {
        let place = try PublishingPlace()
        let path = place.origin + "/channels/stable.json"
        func expectValid() throws {
            try expect(schema.problems(of: Damage.contents(path)), equals: [])
        }
        try place.publish("1")
        try expectValid()
        let kinds = [
            Requirement.compatibility, Requirement.runtimeVersion, Requirement.minimumAppVersion,
            Requirement.appVersionRange, Requirement.minimumNativeInterface, "a-kind.of_mine",
        ]
        let offer = ReleaseOffer(
            rollout: Rollout(perMille: 50, salt: "some salt"),
            requirements: kinds.map { Requirement(kind: $0, value: "1.0") }, isMandatory: true)
        try place.publisher().publish("2", of: place.versions, as: offer)
        try expectValid()
        try place.publish("2")
        try expectValid()
        _ = try place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        try expectValid()
        try place.publish("2")
        try place.publisher().collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        try expectValid()
        _ = try place.publisher().withdraw(VersionName("2"))
        try expectValid()
    }

    private static let address = ChannelPointerTests.digits

    private static func text(_ release: String, _ more: String = "") -> String {
        ChannelPointerTests.pointer(release, more: more)
    }

    private static func release(_ more: String = "") -> String {
        ChannelPointerTests.release.dropLast() + more + "}"
    }

    @Test(arguments: [
        text(""), text(release()), text(release(",\"future\":[1]"), ",\"more\":{}"),
        text("{\"createdAt\":1,\"embedded\":true,\"sequence\":8}"),
        text(release(",\"rolloutPerMille\":0,\"rolloutSalt\":\"\"")),
        text(release(",\"requirements\":{\"minimumAppVersion\":\"3.1\"}")),
        text(release(",\"delivery\":\"\(address)\",\"deliveryBytes\":7")),
        text(release(",\"facts\":\"\(address)\"")),
        text(release(), ",\"withdrawn\":[{\"content\":\"\(address)\",\"version\":\"41\"}]"),
    ])
    func `takes what the reader takes`(_ text: String) throws {
        _ = try ChannelPointer(parsing: Array(text.utf8), of: .stable)
        try expect(schema.problems(of: text.utf8), equals: [])
    }

    @Test(arguments: [
        text(release(), ",\"withdrawn\":[{\"version\":\"41\"}]"),
        text(release(), ",\"withdrawn\":[{\"content\":\"1\",\"version\":\"41\"}]"),
        "[]", "{}", text("[]"), text("{\"createdAt\":1,\"sequence\":8}"),
        text(release(",\"mandatory\":1")), text(release(",\"rolloutPerMille\":5")),
        text(release(",\"rolloutPerMille\":1001,\"rolloutSalt\":\"\"")),
        text(release(",\"requirements\":{\"a kind\":\"1\"}")),
        text(
            "{\"createdAt\":1,\"delivery\":\"\(address)\",\"deliveryBytes\":7,\"embedded\":true,"
                + "\"sequence\":8}"),
        text(release(",\"requirements\":{\"kind\":1}")), text(release(",\"facts\":\"\"")),
        text("{\"createdAt\":1,\"embedded\":true,\"facts\":\"\(address)\",\"sequence\":8}"),
        text("{\"content\":\"\(address)\",\"createdAt\":1,\"embedded\":true,\"sequence\":8}"),
        text(release().replacing("\"manifestBytes\":120", with: "\"manifestBytes\":0")),
        text(release().replacing("abab\"", with: "abAB\"")),
        text("").replacing("\"castreeChannel\":1", with: "\"castreeChannel\":2"),
    ])
    func `refuses what the reader refuses`(_ text: String) throws {
        #expect(throws: StoreError.self) {
            try ChannelPointer(parsing: Array(text.utf8), of: .stable)
        }
        try expect(!schema.problems(of: text.utf8).isEmpty)
    }
}
