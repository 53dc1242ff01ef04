import OriginTestSupport

@Suite("The pointer of a channel") struct ChannelPointerTests {
    static let digits = String(repeating: "ab", count: 32)
    static let release = """
        {"content":"\(digits)","createdAt":5,"manifest":"\(digits)","manifestBytes":120,"sequence":7,\
        "version":"1.0"}
        """

    static func pointer(_ releases: String = release, more: String = "") -> String {
        """
        {"castreeChannel":1,"channel":"stable","createdAt":9,"releases":[\(releases)],"sequence":8\(more)}
        """
    }

    /// A release with one field replaced, or left out.
    static func release(_ field: String, _ value: String?) -> String {
        var fields = [
            "content": "\"\(digits)\"", "createdAt": "5", "manifest": "\"\(digits)\"",
            "manifestBytes": "120", "sequence": "7", "version": "\"1.0\"",
        ]
        fields[field] = value
        return "{" + fields.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",") + "}"
    }

    private func parse(_ text: String) throws(StoreError) -> ChannelPointer {
        try ChannelPointer(parsing: Array(text.utf8), of: .stable)
    }

    @Test func `is read and written without a byte of difference`() throws {
        let full = """
            {"castreeChannel":1,"channel":"stable","createdAt":9,"releases":[{"content":"\(Self.digits)",\
            "createdAt":5,"mandatory":true,"manifest":"\(Self.digits)","manifestBytes":120,\
            "note":{"deep":[1.50,null]},"requirements":{"compatibility":"ios-3","minimumAppVersion":"2.1"},\
            "rolloutPerMille":125,"rolloutSalt":"s","sequence":8,"version":"1.0"},\
            {"createdAt":4,"embedded":true,"sequence":3}],"sequence":8,"signature":"xyz"}

            """
        let pointer = try parse(full)
        expect(String(decoding: pointer.serialized(), as: UTF8.self), equals: full)
        expect(pointer.sequence == 8 && pointer.createdAt == 9)
        expect(pointer.foreign.map(\.key), equals: ["signature"])
        let first = try require(pointer.releases.first)
        expect(first.version?.name.description, equals: "1.0")
        expect(first.version?.manifestByteCount, equals: 120)
        expect(first.isMandatory)
        expect(first.rollout, equals: Rollout(perMille: 125, salt: "s"))
        expect(
            first.requirements,
            equals: [
                Requirement(kind: "compatibility", value: "ios-3"),
                Requirement(kind: "minimumAppVersion", value: "2.1"),
            ])
        expect(first.foreign.map(\.key), equals: ["note"])
        expect(pointer.releases[1].target, equals: .embedded)
    }

    @Test func `may offer nothing, and fields in any order with white space`() throws {
        try expect(parse(Self.pointer("")).releases.isEmpty)
        let text = """
             { "sequence" : 8, "releases" : [ ], "createdAt" : 0, "channel" : "stable",
               "castreeChannel" : 1 }
            """
        try expect(parse(text).createdAt, equals: 0)
    }

    @Test func `of a newer format is refused with the advice to use a newer castree`() throws {
        expectRefusal(.unsupportedFormat, saying: "use a newer one") {
            try parse(#"{"castreeChannel":2,"everything":"different"}"#)
        }
    }

    static let hostile: [String] = [
        "", "{", "[]", "null", "\u{FEFF}{}", "{}", #"{"castreeChannel":0}"#,
        #"{"castreeChannel":"1"}"#, #"{"castreeChannel":-1}"#, #"{"castreeChannel":1.0}"#,
        #"{"castreeChannel":1,"castreeChannel":1}"#, String(repeating: "[", count: 100_000),
        pointer() + "x", pointer(more: #","sequence":9"#), pointer(more: #","x":1e"#),
        pointer("null"), pointer("7"), pointer("[]"), pointer("{}"),
        pointer(release + "," + release),
        pointer(release("version", nil)), pointer(release("version", #""../../etc/passwd""#)),
        pointer(release("version", #""""#)), pointer(release("version", "7")),
        pointer(release("version", "\".hidden\"")),
        pointer(release("version", "\"" + String(repeating: "v", count: 129) + "\"")),
        pointer(release("manifest", nil)), pointer(release("manifest", #""abc""#)),
        pointer(release("manifest", "\"\(digits.uppercased())\"")),
        pointer(release("manifest", "\"../\(digits.dropFirst(3))\"")),
        pointer(release("content", nil)), pointer(release("content", "\"\(digits)0\"")),
        pointer(release("manifestBytes", "0")), pointer(release("manifestBytes", "-1")),
        pointer(release("manifestBytes", "1.5")), pointer(release("manifestBytes", "\"1\"")),
        pointer(release("manifestBytes", "1073741825")),
        pointer(release("manifestBytes", "9223372036854775808")),
        pointer(release("sequence", "0")), pointer(release("sequence", "9")),
        pointer(release("sequence", "9223372036854775807")), pointer(release("sequence", nil)),
        pointer(release("createdAt", "9007199254740992")), pointer(release("createdAt", "-1")),
        pointer(release("createdAt", nil)),
        pointer(release("mandatory", "1")), pointer(release("mandatory", "\"true\"")),
        pointer(release("embedded", "true")), pointer(release("embedded", "\"yes\"")),
        pointer(release("rolloutPerMille", "10")), pointer(release("rolloutSalt", "\"x\"")),
        pointer(release("requirements", "[]")), pointer(release("requirements", #"{"a":1}"#)),
        pointer(release("requirements", #"{"":"1"}"#)),
        pointer(release("requirements", #"{"a\u0000b":"1"}"#)),
        pointer(release("requirements", #"{"a/b":"1"}"#)),
        pointer(release("requirements", #"{"a":"1","a":"2"}"#)),
        pointer(
            release("requirements", "{\"a\":\"" + String(repeating: "1", count: 257) + "\"}")),
        pointer().replacing("\"stable\"", with: "\"beta\""),
        pointer().replacing("\"stable\"", with: "\"Stable\""),
        pointer().replacing("\"sequence\":8", with: "\"sequence\":0"),
        pointer().replacing("\"sequence\":8", with: "\"sequence\":-8"),
        pointer().replacing("\"sequence\":8", with: "\"sequence\":1e3"),
        pointer().replacing("\"releases\":[", with: "\"releases\":{\"a\":[").replacing(
            "],", with: "]},"),
        pointer().replacing("\"createdAt\":9,", with: ""),
        pointer(
            (0..<65).map { release("sequence", "\(100 - $0)") }.joined(separator: ",")
        ).replacing("\"sequence\":8}", with: "\"sequence\":100}"),
    ]

    @Test(arguments: hostile)
    func `is refused when it breaks a rule, by one code and in words`(_ text: String) throws {
        let error = expectRefusal(.badPointer, "\(text.prefix(200))") { try parse(text) }
        expect(error?.message.hasPrefix("the pointer of channel stable is refused: "), equals: true)
    }

    /// Lets the origin's pointer say another sequence, in its first release as well.
    private func overwrite(_ place: PublishingPlace, with sequence: Int64) throws -> ChannelPointer
    {
        let path = place.origin + "/" + OriginLayout.pointer(.stable)
        var pointer = try ChannelPointer(parsing: try Damage.contents(path), of: .stable)
        pointer.sequence = sequence
        pointer.releases[0].sequence = sequence
        try Damage.overwrite(path, with: pointer.serialized())
        return pointer
    }

    @Test(
        "whose sequence is ahead of all times comes back to them with the next change",
        arguments: [
            ChannelPointer.sequenceMax, ChannelPointer.sequenceMax - 1,
            1_760_000_000 + 365 * 86_400 + 3600,
        ] as [Int64])
    func absurd(_ sequence: Int64) throws {
        let place = try PublishingPlace(offering: "1")
        try place.publish("2")
        _ = try overwrite(place, with: sequence)
        place.clock.advance(60)
        let next = try place.publish("1").pointer
        expect(next.sequence >= place.clock.now)
        expect(next.sequence < place.clock.now + 10)
        expect(next.releases.map { $0.version?.name.description }, equals: ["1", "2"])
        _ = try overwrite(place, with: sequence)
        // The same offer again is enough, and so is taking one back.
        try expect(place.publish("1").pointer.sequence < place.clock.now + 10)
        _ = try overwrite(place, with: sequence)
        try expect(place.publisher().withdraw(VersionName("1")).sequence < place.clock.now + 10)
        // Readers take what was written: sequences decrease from release to release.
        try expect(place.read()?.version, equals: "2")
    }

    @Test
    func `that is not ahead is never taken back by a publisher whose clock is behind`() throws {
        let place = try PublishingPlace()
        let before = try place.publish("1").pointer
        place.clock.advance(-1_759_999_000)
        try expect(place.publish("2").pointer.sequence, equals: before.sequence + 1)
    }

    @Test func `is refused when it is not UTF-8, and beyond 256 KiB before it is read`() throws {
        var bytes = Array(Self.pointer(more: #","x":"?""#).utf8)
        bytes[bytes.count - 3] = 0xFF
        expectRefusal(.badPointer) { try ChannelPointer(parsing: bytes, of: .stable) }
        let long = Self.pointer(
            more: ",\"x\":\"" + String(repeating: "x", count: 256 * 1024) + "\"")
        expectRefusal(.tooLarge) { try parse(long) }
    }

    @Test func `keeps, when a roll-out grows, fields that a newer castree has put there`() throws {
        let place = try PublishingPlace()
        let offer = ReleaseOffer(rollout: Rollout(perMille: 10, salt: "x"))
        var pointer = try place.publisher().publish("1", of: place.versions, as: offer).pointer
        pointer.foreign = [.init(key: "future", value: .string("kept"))]
        pointer.releases[0].foreign = [.init(key: "notes", value: .array([.null]))]
        let path = place.origin + "/" + OriginLayout.pointer(.stable)
        pointer.log = nil
        try Damage.overwrite(path, with: pointer.serialized())
        try place.forgetLog()
        let next = try place.publish("1").pointer
        expect(next.sequence, equals: pointer.sequence + 1)
        expect(next.foreign, equals: pointer.foreign)
        expect(next.releases[0].foreign, equals: pointer.releases[0].foreign)
    }
}
