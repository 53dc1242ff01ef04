import StorageTestSupport

@testable import UsagePage
@testable import VersionTree

@Suite("The usage page") struct UsagePageTests {
    static let hostile = "</script><script>alert(1)</script>"

    func survey(_ files: [String: String]) throws -> UsageSurvey {
        let temporary = try TemporaryStore(adding: "1", files)
        var options = SurveyOptions()
        options.mapFilesMax = 1000
        return try temporary.versions.survey(options)
    }

    func text(_ survey: UsageSurvey) throws -> String {
        String(decoding: try UsagePage.html(survey), as: UTF8.self)
    }

    @Test func `is one document with its style, its script and its figures`() throws {
        let page = try text(survey(["a": "1", "b/c": "22"]))
        expect(page.hasPrefix("<!doctype html>"))
        expect(page.hasSuffix("</html>\n"))
        expect(!page.contains("{{"))
        expect(page.components(separatedBy: "<script").count, equals: 3)
        expect(page.components(separatedBy: "<style").count, equals: 2)
    }

    @Test func `loads nothing: no address in it but those that name what a document is`() throws {
        let page = try text(survey(["a": "1"]))
        for address in page.matches(of: /https?:\/\/[^\s"'`<>)]+/) {
            expect(address.output, equals: "http://www.w3.org/2000/svg")
        }
        for word in ["src=", "@import", "url(", "<link", "<iframe", "<img", "fetch(", "import("] {
            expect(!page.contains(word), "\(word)")
        }
    }

    @Test func `forbids everything but its own style and script, by their digests`() throws {
        let page = try text(survey(["a": "1"]))
        let policy = try require(
            page.firstMatch(of: /http-equiv="Content-Security-Policy" content="([^"]*)"/)?.output.1)
        expect(policy.contains("default-src 'none'"))
        expect(policy.contains("connect-src 'none'"))
        expect(!policy.contains("unsafe"))
        for (name, text) in [
            ("script", UsagePage.script(isLive: false)), ("style", UsagePage.style),
        ] {
            let digest = try sha256(text)
            expect(policy.contains("\(name)-src 'sha256-\(digest)'"), "\(name)")
        }
    }

    @Test func `asks its own server, and nobody else, only where it is served`() throws {
        let survey = try survey(["a": "1"])
        let page = String(decoding: try UsagePage.html(survey, isLive: true), as: UTF8.self)
        let policy = try UsagePage.policy(isLive: true)
        expect(page.contains("content=\"\(policy)\""))
        expect(policy.contains("connect-src 'self'"))
        expect(policy.contains("script-src 'sha256-\(try sha256(UsagePage.script(isLive: true)))'"))
        expect(page.contains("id=\"live-versions\""))
        expect(!page.contains("{{"))
        expect(!(try text(survey)).contains("live-versions"))
    }

    /// SHA-256 in base64, by another program.
    func sha256(_ bytes: [UInt8]) throws -> String {
        let directory = TemporaryDirectory()
        let file = directory.appending("bytes")
        try Data(bytes).write(to: URL(filePath: file))
        let script = "openssl dgst -sha256 -binary \"$0\" | base64"
        return try OtherProgram("sh", "-c", script, file).text.filter { !$0.isWhitespace }
    }

    @Test func `has nothing of names and paths that a browser would take for markup`() throws {
        let component = "<script>alert(1)<"
        var survey = try survey([Self.hostile: "1", component: "2", "a&b<!--": "3"])
        // No version can be called so; a page must not depend on it.
        survey.versions[0].version = Self.hostile
        survey.growth[0].version = "<b>&amp;"
        survey.map?.versions = [Self.hostile]
        let page = try text(survey)
        expect(page.components(separatedBy: "<script").count, equals: 3)
        expect(page.components(separatedBy: "</script").count, equals: 3)
        expect(!page.contains("<!--"))
        expect(!page.contains("alert(1)<"))
        expect(!page.contains("<b>&amp;"))
        expect(page.contains(#"\u003c"#))
    }

    @Test func `has figures that are the same document after the escaping`() throws {
        let survey = try survey(["a<b>&c/d": "1", "e": "22"])
        let json = UsagePage.json(survey)
        let escaped = UsagePage.inert(json)
        expect(!escaped.contains(60) && !escaped.contains(62) && !escaped.contains(38))
        let (one, other) = (
            try JSONSerialization.jsonObject(with: Data(json)) as? NSDictionary,
            try JSONSerialization.jsonObject(with: Data(escaped)) as? NSDictionary
        )
        expect(one != nil && one == other)
    }

    @Test func `tells the map in columns of matching lengths`() throws {
        let json = UsagePage.json(try survey(["a": "1", "b/c": "22", "b/d/e": "22"]))
        let document = try require(
            try JSONSerialization.jsonObject(with: Data(json)) as? [String: Any])
        let map = try require(document["map"] as? [String: Any])
        let children = try require(map["children"] as? [Int])
        expect(map["names"] as? [String] == ["", "b", "d", "e", "c", "a"])
        expect(children, equals: [2, 2, 1, 0, 0, 0])
        for column in ["bytes", "references", "sets", "objects"] {
            expect((map[column] as? [Int])?.count, equals: 3, "\(column)")
        }
        expect(map["bytes"] as? [Int] == [2, 2, 1])
        expect(map["objects"] as? [Int] == [1, 1, 0])
    }

    @Test func `is whole for an empty store`() throws {
        let temporary = try TemporaryStore()
        let survey = try temporary.versions.survey()
        try expect(text(survey).contains("</html>"))
    }
}
