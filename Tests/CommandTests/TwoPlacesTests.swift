import ProgramTestSupport

/// One origin, as a directory and as a bucket: what commands say of it.
@Suite("The same origin in a directory and in a bucket") struct TwoPlacesTests {
    private let place: Workplace
    private let web: WebOrigin

    init() throws {
        place = Workplace()
        try place.makeDirectory("bucket")
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        for words in [
            ["publish", "1"], ["publish", "2"], ["publish", "1", "--channel", "beta"],
            ["withdraw", "1", "--channel", "beta"], ["prune", "--keep", "1"],
        ] {
            try place.done(words: words + ["bucket/app", "--no-sync"])
        }
        web = try WebOrigin(place.directory)
    }

    @Test(arguments: [
        ["fsck"], ["fsck", "--deep"], ["du"], ["channels"], ["prune", "--dry-run"],
        ["prune", "--keep", "1", "--dry-run"],
    ])
    func `is told of in the same words and members, but for its name and what was asked`(
        _ verb: [String]
    ) throws {
        let places = [["bucket/app"], ["s3://bucket/app", "--endpoint", web.url, "--anonymous"]]
        let texts = try places.map { place in
            let told = try self.place.done(words: verb + place)
            return Self.comparable(told.text.replacing(place[0], with: "ORIGIN"))
        }
        expect(texts[0], equals: texts[1])
        let documents = try places.map { place in
            let text = try self.place.run(.castree, verb + place + ["--json"]).text
            return try JSONSerialization.jsonObject(with: Data(text.utf8))
        }
        expect(Self.comparable(documents[0]), equals: Self.comparable(documents[1]))
    }

    /// Without what was asked, a publisher's own files in a directory, and how wide columns are.
    private static func comparable(_ text: String) -> String {
        text.replacing(/[0-9]+ requests?\./, with: "requests.").replacing(
            /publisher .*\n/, with: ""
        )
        .replacing(/[ ]+/, with: " ")
    }

    private static func comparable(_ document: Any) -> NSObject {
        guard var members = document as? [String: Any] else {
            return document as? NSObject ?? NSNull()
        }
        for name in ["origin", "publisher", "requests", "sentBytes", "receivedBytes"] {
            members[name] = nil
        }
        return members as NSDictionary
    }
}
