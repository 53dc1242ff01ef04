import Archives
import HotPush
import StorageTestSupport

@testable import ClientSystems

/// What goes over the wire, byte for byte.
@Suite struct CodePushAnswerTests {
    private static let path = "/v0.1/public/codepush/update_check"

    @Test func `An update is told in the bytes that the clients know`() throws {
        var model = CodePushModel()
        let old = try model.publish("1.0")
        let new = try model.publish("2.0", signer: nil)
        let content = try require(new.version?.content)
        let base = try require(old.version?.content)
        let query =
            "deployment_key=KEY&app_version=1.0.0&package_hash=\(old.packageHash ?? "")"
            + "&is_companion=&label=v1&client_unique_id=dev-1"
        let answer = try require(try model.answer(ClientRequest(Self.path, query: query)))
        expect(answer.status, equals: 200)
        expect(answer.field("content-type"), equals: "application/json")
        let url = "https://u.example.org/for/codepush/archives/\(content).from.\(base).zip"
        func package(_ content: ObjectID) throws -> CodePushPackage {
            CodePushPackage(try require(model.origin.contents[content]), folder: "CodePush")
        }
        let difference = try package(content).difference(from: package(base))
        let size = try require(difference).byteCount
        expect(
            answer.text,
            equals: """
                {"update_info":{"download_url":"\(url)","description":"2.0","is_available":true,\
                "is_disabled":false,"target_binary_range":"1.0.0","is_mandatory":false,\
                "package_hash":"\(new.packageHash ?? "")","label":"v2","package_size":\(size),\
                "should_run_binary_version":false,"update_app_version":false}}
                """)
        let full = try require(try model.update())
        expect(
            full["download_url"]?.asString,
            equals: "https://u.example.org/for/codepush/archives/\(content).zip")
        expect(full["package_size"]?.asInt64, equals: new.archive?.byteCount)
        expect(full["package_size"]?.asInt64 ?? 0 > 0)
    }

    @Test func `Nothing new is told in the same members, empty`() throws {
        var model = CodePushModel()
        let offer = try model.publish("1")
        let answer = try require(try model.check(offer.query))
        expect(
            answer.text,
            equals: """
                {"update_info":{"download_url":"","description":"","is_available":false,\
                "is_disabled":false,"target_binary_range":"","is_mandatory":false,\
                "package_hash":"","label":"","package_size":0,\
                "should_run_binary_version":false,"update_app_version":false}}
                """)
    }

    @Test func `The old spelling asks and tells the same`() throws {
        var model = CodePushModel()
        try model.publish("1", range: "^1.0.0", isMandatory: true)
        let answer = try require(
            try model.answer(
                ClientRequest(
                    "/updateCheck", query: "deploymentKey=KEY&appVersion=1.5.0&clientUniqueId=x")))
        let update = try require(answer.document?["updateInfo"])
        expect(
            update.asObject?.map(\.key),
            equals: [
                "downloadURL", "description", "isAvailable", "isDisabled", "appVersion",
                "isMandatory", "packageHash", "label", "packageSize", "shouldRunBinaryVersion",
                "updateAppVersion",
            ])
        expect(update["isMandatory"]?.asBool, equals: true)
        expect(update["appVersion"]?.asString, equals: "1.5.0")
        expect(update["downloadURL"], equals: (try model.update(version: "1.5.0"))?["download_url"])
    }

    @Test func `Questions that are none are refused: 400 and 404`() throws {
        var model = CodePushModel()
        try model.publish("1")
        let table: [(String?, Int)] = [
            (nil, 400), ("", 400), ("app_version=1.0.0", 400), ("deployment_key=KEY", 400),
            ("deployment_key=&app_version=1.0.0", 400),
            ("deployment_key=KEY&app_version=", 400),
            ("deployment_key=KEY&app_version=notSemver", 400),
            ("deployment_key=KEY&app_version=1.0.0.0", 200),
            ("deployment_key=KEY&app_version=1.0.0%20||%20*", 400),
            ("deployment_key=KEY&app_version=1.x", 400),
            ("deployment_key=KEY&app_version=" + String(repeating: "1", count: 10_000), 400),
            ("deployment_key=KEY&app_version=1.0.0-" + String(repeating: "a", count: 10_000), 400),
            ("deployment_key=%&app_version=1.0.0", 400),
            ("deployment_key=%ff&app_version=1.0.0", 400),
            ("deployment_key=K%00EY&app_version=1.0.0", 400),
            ("deployment_key=keywith%25character&app_version=1.0.0", 400),
            ("deployment_key=UNKNOWN&app_version=1.0.0", 404),
            ("deployment_key=stable&app_version=1.0.0", 404),
            ("deployment_key=%0D%0AKEY%0D%0A&app_version=1.0.0", 200),
            ("deployment_key=KEY&app_version=v1.0.0", 200),
            ("deployment_key=KEY&deployment_key=OTHER&app_version=1.0.0&x&=&y=1=2", 200),
        ]
        for (query, status) in table {
            let answer = try model.answer(ClientRequest(Self.path, query: query))
            expect(answer?.status, equals: status, "\(query ?? "no query")")
        }
        try expect(model.answer(ClientRequest("POST", Self.path))?.status, equals: 405)
        try expect(model.answer(ClientRequest("HEAD", Self.path))?.status, equals: 400)
        for path in ["/", "/updatecheck", "/for/expo/manifest", "/v0.1/public/codepush/"] {
            try expect(model.answer(ClientRequest(path)) == nil)
        }
    }

    @Test func `A deployment of which nothing was published has nothing to offer`() throws {
        let model = CodePushModel()
        let update = try require(try model.update())
        expect(update["is_available"]?.asBool, equals: false)
        expect(update["should_run_binary_version"]?.asBool, equals: true)
    }

    @Test func `Reports are answered with OK, and refused if they say nothing`() throws {
        let model = CodePushModel()
        func status(_ path: String, _ body: String) throws -> ClientAnswer? {
            try model.answer(ClientRequest("POST", path, body: Array(body.utf8)))
        }
        let api = "/v0.1/public/codepush/report_status/"
        let download = #"{"client_unique_id":"x","deployment_key":"KEY","label":"v1"}"#
        let deploy =
            #"{"app_version":"1.0.0","deployment_key":"KEY","client_unique_id":"x","label":"v1","#
            + #""status":"DeploymentSucceeded","previous_label_or_app_version":"1.0.0","#
            + #""previous_deployment_key":"KEY"}"#
        for (path, body) in [
            (api + "download", download), (api + "deploy", deploy),
            ("/reportStatus/download", #"{"deploymentKey":"KEY","label":"v1"}"#),
            ("/reportStatus/deploy", #"{"deploymentKey":"KEY","appVersion":"1"}"#),
        ] {
            let answer = try status(path, body)
            expect(answer?.status == 200 && answer?.text == "OK")
        }
        for body in [
            "", "{invalid: json", "null", "[]", "{}", #"{"deployment_key":"KEY"}"#,
            #"{"label":"v1","app_version":"1"}"#, #"{"deployment_key":1,"label":"v1"}"#,
            #"{"deployment_key":"KEY","deployment_key":"KEY","label":"v1","app_version":"1"}"#,
            String(repeating: "[", count: 60_000),
        ] {
            try expect(status(api + "download", body)?.status, equals: 400)
            try expect(status(api + "deploy", body)?.status, equals: 400)
        }
        let large = download + String(repeating: " ", count: 65_536)
        try expect(status(api + "download", large)?.status, equals: 413)
        try expect(model.answer(ClientRequest(api + "deploy"))?.status, equals: 405)
    }

    @Test func `Archives are those of what a channel offers, whole or from what it offers`() throws
    {
        var model = CodePushModel()
        let other = try ChannelName("other")
        model.configuration.deployments["OTHER"] = other
        let first = try model.publish("1")
        let second = try model.publish("2")
        let elsewhere = try model.publish("3", in: other)
        let hidden = try model.publish("4", in: try ChannelName("hidden"))
        func status(_ name: String) throws -> Int? {
            try model.answer(ClientRequest("/for/codepush/archives/" + name))?.status
        }
        let contents = try [first, second, elsewhere, hidden].map {
            try require($0.version?.content)
        }
        try expect(status("\(contents[0]).zip"), equals: 200)
        try expect(status("\(contents[1]).from.\(contents[0]).zip"), equals: 200)
        try expect(status("\(contents[0]).from.\(contents[1]).zip"), equals: 200)
        try expect(status("\(contents[2]).zip"), equals: 200)
        for name in [
            "\(contents[2]).from.\(contents[0]).zip", "\(contents[0]).from.\(contents[2]).zip",
            "\(contents[3]).zip", "\(contents[0])", "\(contents[0]).ZIP", ".zip", "", "..",
            "\(contents[0]).x.zip", "\(contents[0]).zip/", "%2e%2e%2f\(contents[0]).zip",
            "\(contents[0]).from.zip", "\(contents[0]).from.\(contents[1]).x.zip", "%00.zip", "%",
            "\(contents[0].description.uppercased()).zip",
        ] {
            try expect(status(name), equals: 404, "\(name)")
        }
        // A hash of another deployment leads to the whole archive, never to a difference.
        let update = try require(
            try model.update("&package_hash=\(elsewhere.packageHash ?? "")&label=v1"))
        expect(update["download_url"]?.asString?.contains(".from."), equals: false)
        model.origin.withdraw(first)
        try expect(status("\(contents[0]).zip"), equals: 404)
        try expect(status("\(contents[1]).from.\(contents[0]).zip"), equals: 404)
        let after = try require(try model.update(first.query))
        expect(after["download_url"]?.asString?.contains(".from."), equals: false)
    }

    /// Caches keep an archive for ever by its URL.
    @Test func `Below another folder an archive has another name, and the old name leads nowhere`()
        throws
    {
        var model = CodePushModel()
        let first = try model.publish("1")
        try model.publish("2")
        let before = try require(try model.update()?["download_url"]?.asString)
        try expect(
            model.archive(at: before)?.keys.allSatisfy { $0.hasPrefix("CodePush/") }, equals: true)
        model.configuration.folder = "www"
        let after = try require(try model.update()?["download_url"]?.asString)
        expect(after != before)
        try expect(model.archive(at: after)?.keys.allSatisfy { $0.hasPrefix("www/") }, equals: true)
        try expect(model.archive(at: before) == nil)
        // So has a difference.
        let difference = try require(
            try model.update(first.query)?["download_url"]?.asString)
        expect(difference.contains(".www.from."))
    }

    @Test func `What the origin has lost is not offered`() throws {
        var model = CodePushModel()
        let first = try model.publish("1")
        let second = try model.publish("2")
        model.origin.lose(try require(first.version?.content))
        let full = try require(try model.update(first.query))
        expect(full["download_url"]?.asString?.contains(".from."), equals: false)
        // Back from the newest, which is for another app version, by a difference as well.
        let third = try model.publish("3", range: "2.0.0")
        let back = try require(try model.update(third.query))
        expect(back["download_url"]?.asString?.contains(".from."), equals: true)
        model.origin.lose(try require(second.version?.content))
        let nothing = try require(try model.update(first.query))
        expect(nothing["is_available"]?.asBool, equals: false)
    }

}
