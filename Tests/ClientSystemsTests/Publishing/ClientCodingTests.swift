import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

@Suite("What is written for the clients of other systems") struct ClientCodingTests {
    static let configuration = """
        {"baseURL":"https://u.example.org/app","castreeClients":1,"deployments":{"K=":"stable","ios/production":"ios"},\
        "folder":"www","historyCount":17,"system":"codepush"}

        """
    private static func digits(_ pair: String) -> String { String(repeating: pair, count: 32) }

    static let history = """
        {"castreeHistory":1,"channel":"stable","labelCount":3,"offers":[\
        {"content":"\(digits("01"))","createdAt":5000,"facts":"\(digits("02"))","firstOfferedAt":4000,\
        "manifest":"\(digits("03"))","manifestBytes":120,"sequence":7,"version":"1.0"},\
        {"archive":{"bytes":99,"sha256":"\(digits("04"))"},"createdAt":6000,"documents":[{"address":"\(digits("05"))",\
        "bytes":12,"id":"d1","platform":"ios","runtimeVersion":"1","signature":"sig"},{"address":"\(digits("05"))",\
        "bytes":12,"id":"d2","platform":"android","runtimeVersion":"1"}],"embedded":true,"firstOfferedAt":6000,\
        "id":"u1","label":"v3","manifestDigest":"\(digits("06"))","packageHash":"ph","sequence":9,\
        "signatures":{"archive":"s"}}],"system":"codepush"}

        """

    private func configuration(_ text: String) throws(StoreError) -> ClientConfiguration {
        try ClientConfiguration(parsing: Array(text.utf8), of: .codePush)
    }

    private func history(_ text: String) throws(StoreError) -> ClientHistory {
        try ClientHistory(parsing: Array(text.utf8), of: .stable, .codePush)
    }

    @Test func `is read and written without a byte of difference`() throws {
        let configuration = try configuration(Self.configuration)
        expect(configuration.baseURL, equals: "https://u.example.org/app")
        expect(configuration.deployments["K="] == .stable && configuration.deployments.count == 2)
        expect(configuration.folder == "www" && configuration.historyCount == 17)
        expect(configuration.serialized(), equals: Array(Self.configuration.utf8))
        let history = try history(Self.history)
        expect(history.serialized(), equals: Array(Self.history.utf8))
        expect(history.labelCount == 3 && history.offers.map(\.sequence) == [7, 9])
        expect(history.offers[0].version?.name.description, equals: "1.0")
        expect(history.offers[1].target == .embedded && history.offers[1].archive?.byteCount == 99)
        expect(history.offers[1].documents.map(\.signature), equals: ["sig", nil])
    }

    @Test func `is not set if it is more than is read`() {
        var configuration = ClientConfiguration(.codePush, baseURL: "https://u.example.org")
        for number in 0..<1000 {
            configuration.deployments["\(number)" + String(repeating: "k", count: 250)] = .stable
        }
        expect(configuration.problem?.contains("262144 bytes"), equals: true)
    }

    @Test func `is refused if it breaks a rule, with the file's name and what to do`() throws {
        let text = Self.configuration
        var refused = ["", "[]", "{}"]
        for (part, other) in [
            ("castreeClients\":1", "castreeClients\":0"), ("\"folder\":\"www\",", ""),
            ("\"folder\":\"www\"", "\"folder\":\"www\",\"more\":1"), ("\"www\"", "\"..\""),
            ("\"historyCount\":17", "\"historyCount\":0"), ("\"stable\"", "\"Stable\""),
            ("\"historyCount\":17", "\"historyCount\":5001"), ("\"stable\"", "7"),
            ("\"stable\"", "\"config\""), ("\"K=\"", "\"K\\u0000\""),
            ("\"system\":\"codepush\"", "\"system\":\"expo\""), ("https://u", "ftp://u"),
            ("https://u.example.org/app", "https://"), ("/app", "/"), ("/app", "/a?b"),
            ("/app", "/a#b"), ("https://u.", "https://u@"), ("/app", "/a b"), ("/app", "/ü"),
            ("{\"K=\"", "{\"K=\":\"beta\",\"K=\""),
            ("\"K=\"", "\"\(String(repeating: "k", count: 257))\""),
        ] {
            refused.append(text.replacing(part, with: other, maxReplacements: 1))
        }
        for text in refused {
            expectRefusal(.badClients, "\(text)", saying: "for/codepush/config.json") {
                try configuration(text)
            }
        }
        expectRefusal(.badClients, saying: "castree origin enable") {
            try ClientConfiguration(.object([]), of: .codePush)
        }
        let newer = text.replacing("castreeClients\":1", with: "castreeClients\":2")
        expect(code { try configuration(newer) }, equals: .unsupportedFormat)
    }

    @Test func `as a history is refused in any other spelling as well`() throws {
        let text = Self.history
        var refused = ["", "[]", "{}", text + " ", String(text.dropLast())]
        for (part, other) in [
            ("\"castreeHistory\":1", "\"castreeHistory\":0"), ("\"stable\"", "\"beta\""),
            ("\"labelCount\":3", "\"labelCount\":-1"), ("\"labelCount\":3", "\"labelCount\":3.0"),
            ("\"system\":\"codepush\"", "\"system\":\"expo\""), ("6000", "5000"), ("6000", "4000"),
            ("\"sequence\":7", "\"sequence\":0"), ("\"embedded\":true", "\"embedded\":false"),
            ("\"embedded\":true", "\"embedded\":true,\"content\":\"\(Self.digits("01"))\""),
            ("\"bytes\":99", "\"bytes\":-1"), ("{\"archive\":\"s\"}", "[]"),
            ("{\"archive\":\"s\"}", "{\"archive\":1}"), ("\"documents\":[", "\"documents\":[7,"),
            ("\"manifestBytes\":120", "\"manifestBytes\":0"),
            ("\"version\":\"1.0\"", "\"version\":\"\""),
            ("\"id\":\"u1\",", "\"id\":7,"), ("\"label\":\"v3\"", "\"label\":\"v3\",\"more\":1"),
            ("\"platform\":\"ios\"", "\"platform\":1"), (Self.digits("03"), Self.digits("0G")),
        ] {
            refused.append(text.replacing(part, with: other, maxReplacements: 1))
        }
        for text in refused {
            expectRefusal(.badClients, "\(text)", saying: "for/codepush/stable.json") {
                try history(text)
            }
        }
        let newer = text.replacing("castreeHistory\":1", with: "castreeHistory\":2")
        expect(code { try history(newer) }, equals: .unsupportedFormat)
    }

    @Test("of a pointer that never came is dropped, and what went back in time is offered again")
    func sequences() throws {
        func release(_ sequence: Int64, _ name: String) throws -> ChannelRelease {
            ChannelRelease(
                .version(
                    PublishedVersion(
                        name: try VersionName(name), manifest: .zero, manifestByteCount: 1,
                        content: .zero)), sequence: sequence, createdAt: sequence,
                facts: PublishedFacts(address: .zero))
        }
        func pointer(_ sequence: Int64, _ releases: ChannelRelease...) -> ChannelPointer {
            ChannelPointer(
                channel: .stable, sequence: sequence, createdAt: sequence, releases: releases)
        }
        func offer(_ release: ChannelRelease, _ createdAt: Int64) -> ClientOffer {
            let target: ClientOffer.Target =
                release.version.map { .version($0, facts: .zero) } ?? .embedded
            return ClientOffer(
                sequence: release.sequence, target: target, createdAt: createdAt,
                firstOfferedAt: createdAt)
        }
        let (one, two, other) = (try release(5, "1"), try release(6, "2"), try release(6, "3"))
        // A publisher was killed after it wrote the history for 2; then 3 is published.
        var history = ClientHistory(
            .codePush, .stable, offers: [offer(one, 5000), offer(two, 6000)])
        let lacking = history.lacking(
            pointer(6, other, one), upon: pointer(5, one), ordersByTime: false)
        expect(lacking.map(\.release), equals: [other])
        expect(history.offers, equals: [offer(one, 5000)])
        // A sequence that could not be is counted anew from the present.
        let late = try release(1 << 50, "1")
        history = ClientHistory(.codePush, .stable, offers: [offer(late, 5000)])
        let again = history.lacking(
            pointer(6, two, one), upon: pointer(1 << 50, late), ordersByTime: true)
        expect(again.map(\.release) == [one, two] && history.offers.isEmpty)
        // A pointer that was lost is made again: what clients know stays known.
        history = ClientHistory(.codePush, .stable, offers: [offer(one, 5000)])
        expect(
            history.lacking(pointer(6, two), upon: nil, ordersByTime: true).map(\.release),
            equals: [two])
        expect(history.offers, equals: [offer(one, 5000)])
        // What no clock can have made, or nobody can have offered before a signed pointer, was never offered.
        var signed = pointer(6, two, one)
        signed.signatures = [PointerSignature(key: "k", signature: [])]
        for (pointer, time) in [(signed, Int64(9000)), (pointer(6, two, one), 253_402_300_801_000)]
        {
            history = ClientHistory(
                .codePush, .stable, offers: [offer(one, 5000), offer(two, time)])
            let missing = history.lacking(pointer, upon: pointer, ordersByTime: false)
            expect(missing.map(\.release) == [two] && history.offers == [offer(one, 5000)])
        }
        var never = ClientHistory.Lacking(release: two, isAgain: false)
        never.release.createdAt = ChannelPointer.sequenceMax
        expect(history.time(of: never, in: signed), equals: 253_402_300_799_000)
        // Other facts of the same release are another offer of it.
        var known = one
        known.facts = ObjectID(Self.digits("02")).map { PublishedFacts(address: $0) }
        history = ClientHistory(.codePush, .stable, offers: [offer(one, 5000)])
        expect(
            history.lacking(pointer(6, known), upon: pointer(5, one), ordersByTime: false)
                .map(\.release), equals: [known])
        expect(history.offers.count, equals: 1)
    }
}
