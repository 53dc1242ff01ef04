import HotPush
import StorageTestSupport

@testable import ClientSystems

@Suite("Capgo's clients") struct CapgoTests {
    static let configuration: ClientConfiguration = {
        let names = [("com.demo.app", "stable"), ("com.demo.app/beta", "beta")].compactMap {
            key, name in
            // Both are names of channels.
            (try? ChannelName(name)).map { (key, $0) }
        }
        return ClientConfiguration(
            .capgo, baseURL: "https://h", deployments: Dictionary(names, uniquingKeysWith: { $1 }))
    }()

    static func request(_ changes: [String: String?] = [:]) -> ClientRequest {
        var fields: [String: String?] = [
            "platform": "\"ios\"", "device_id": "\"device-1\"", "app_id": "\"com.demo.app\"",
            "custom_id": "\"\"", "version_build": "\"1.0.0\"", "version_code": "\"1\"",
            "version_os": "\"17\"", "version_name": "\"builtin\"", "plugin_version": "\"8.51.16\"",
            "is_emulator": "false", "is_prod": "true", "defaultChannel": "\"\"", "key_id": "null",
        ]
        fields.merge(changes) { $1 }
        let members = fields.compactMap { key, value in value.map { "\"\(key)\":\($0)" } }
        return ClientRequest(
            "POST", "/for/capgo/updates", body: Array("{\(members.joined(separator: ","))}".utf8))
    }

    private func answer(
        _ request: ClientRequest, _ origin: ModelOrigin
    ) throws -> (status: Int, text: String) {
        let answer = try require(try Capgo.answer(request, Self.configuration, origin))
        return (answer.status, String(decoding: try origin.bytes(of: answer), as: UTF8.self))
    }

    private static let none =
        #"{"error":"no_new_version_available","message":"No new version available","kind":"up_to_date"}"#

    @Test("get the version, its archive and its files, byte for byte as the plugin reads them")
    func golden() throws {
        var origin = ModelOrigin()
        let version = try origin.add(
            "2.0", ["index.html": "hello", "new.js": "new", "a/empty": ""])
        let offer = try origin.publish(
            .version(version), now: 1, for: Capgo.self, Self.configuration)
        let archive = try require(offer.archive)
        let new = try address(of: Array("new".utf8)).description
        let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        func listed(_ path: String, _ hash: String) -> String {
            #"{"file_name":"\#(path)","file_hash":"\#(hash)","download_url":"https://h/objects/"#
                + "\(hash.prefix(2))/\(hash.dropFirst(2))\"}"
        }
        let url = "https://h/for/capgo/archives/\(version.content).zip"
        let found = try answer(Self.request(), origin)
        expect(found.status, equals: 200)
        expect(
            found.text,
            equals:
                #"{"version":"2.0","url":"\#(url)","checksum":"\#(archive.sha256)","session_key":"","manifest":["#
                + "\(listed("a/empty", empty)),\(listed("index.html", hello)),\(listed("new.js", new))]}"
        )
        try expect(answer(Self.request(["version_name": "\"2.0\""]), origin) == (200, Self.none))
        // The archive that the URL leads to has that checksum.
        let zip = try require(
            try Capgo.answer(
                ClientRequest("GET", String(url.dropFirst("https://h".count))), Self.configuration,
                origin)
        )
        expect(zip.status == 200 && zip.field("content-type") == "application/zip")
        let bytes = try origin.bytes(of: zip)
        try expect(address(of: bytes), equals: archive.sha256)
        expect(Int64(bytes.count), equals: archive.byteCount)
        for path in ["new.js", "index.html"] {
            for entry in try JSONValue.parse(Array(found.text.utf8))["manifest"]?.asArray ?? []
            where entry["file_name"]?.asString == path {
                try expect(
                    origin.serves(
                        entry["download_url"]?.asString ?? "", Capgo.self, Self.configuration
                    ))
            }
        }
    }

    /// Plugins before these versions decompress every file of a manifest by Brotli and compare the CRC-32 of an archive;
    /// all take an empty checksum for none.
    @Test
    func `of old plugins get archives alone, and no checksum that they would miscompute`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("2.0", ["index.html": "hello"])
        let offer = try origin.publish(
            .version(version), now: 1, for: Capgo.self, Self.configuration)
        let archive = try require(offer.archive).sha256.description
        for (plugin, isModern) in [
            ("4.50.0", false), ("5.0.0", false), ("5.9.99", false), ("5.10.0", true),
            ("5.30.1", true), ("6.0.0", false), ("6.14.36", false), ("6.25.0", true),
            ("6.25.4", true), ("7.0.0", false), ("7.0.36", false), ("7.0.37", true),
            ("7.1.0", true), ("8.51.16", true), ("10.0.0", true), ("", true), ("unknown", true),
        ] {
            let text = try answer(Self.request(["plugin_version": "\"\(plugin)\""]), origin).text
            let said = try JSONValue.parse(Array(text.utf8))
            expect(said["url"]?.asString?.hasSuffix("\(version.content).zip"), equals: true)
            expect(said["checksum"]?.asString, equals: (isModern ? archive : ""), "\(plugin)")
            expect((said["manifest"]?.asArray?.count == 1), equals: isModern, "\(plugin)")
        }
        for changes in [["plugin_version": nil], ["plugin_version": "null"]] {
            try expect(answer(Self.request(changes), origin).text.contains("\"manifest\""))
        }
    }

    @Test(
        "keep what was shipped with the app, whether they call it builtin or by the app's version")
    func builtIn() throws {
        var origin = ModelOrigin()
        try origin.publish(
            .version(origin.add("2.0.0", ["index.html": "hello"])), now: 1,
            for: Capgo.self, Self.configuration)
        try origin.publish(.embedded, now: 2, for: Capgo.self, Self.configuration)
        for (name, build, told) in [
            ("builtin", "1.4.0", Self.none), ("1.4.0", "1.4.0", Self.none),
            ("2.0.0", "1.4.0", #"{"version":"builtin"}"#),
            ("1.4.0", "1.5.0", #"{"version":"builtin"}"#),
        ] {
            let request = Self.request([
                "version_name": "\"\(name)\"", "version_build": "\"\(build)\"",
            ])
            try expect(answer(request, origin).text, equals: told, "\(name) in \(build)")
        }
    }

    @Test func `on Android are not promised files with names over 190 bytes`() throws {
        for (count, isSaid) in [(190, false), (191, true), (255, true)] {
            for folder in ["", "a/", String(repeating: "d", count: 200) + "/"] {
                var origin = ModelOrigin()
                let version = try origin.add(
                    "1.0.0",
                    ["index.html": "", folder + String(repeating: "n", count: count): ""])
                let release = ChannelRelease(.version(version), sequence: 1, createdAt: 1)
                let said = try Capgo.objections(
                    to: origin.clientRelease(release, now: 1, for: Self.configuration)
                ).contains { $0.message.contains("190 bytes") && !$0.refuses }
                expect(said, equals: isSaid, "\(count) below \(folder)")
            }
        }
    }

    @Test func `get their other requests answered, and nothing but that`() throws {
        let origin = ModelOrigin()
        func status(_ method: String, _ path: String) throws -> Int? {
            try Capgo.answer(ClientRequest(method, path), Self.configuration, origin)?.status
        }
        try expect(
            answer(ClientRequest("POST", "/for/capgo/stats"), origin) == (200, #"{"status":"ok"}"#))
        for method in ["GET", "POST", "PUT", "DELETE"] {
            let (code, text) = try answer(ClientRequest(method, "/for/capgo/channel_self"), origin)
            let body = try JSONValue.parse(Array(text.utf8))
            expect(
                code == 200 && body["error"]?.asString != nil && body["message"]?.asString != nil)
        }
        try expect(status("GET", "/for/capgo/updates"), equals: 405)
        try expect(status("GET", "/for/capgo/stats"), equals: 405)
        for path in ["/", "/for/capgo", "/for/capgo/", "/for/capgo/updates/", "/for/expo/manifest"]
        {
            try expect(status("POST", path) == nil, "\(path)")
        }
    }

    @Test func `are told what is wrong with a body, whatever a stranger sends`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("2.0", ["index.html": "hello"])
        try origin.publish(.version(version), now: 1, for: Capgo.self, Self.configuration)
        let deep = String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000)
        let table: [([String: String?], Int)] = [
            ([:], 200), (["unknown": "{\"a\":[1,2,{}]}"], 200), (["defaultChannel": nil], 200),
            (["defaultChannel": "null"], 200), (["device_id": nil], 200),
            (["version_build": nil], 200),
            (["version_build": "\"no version\""], 200), (["version_os": "[1,2]"], 200),
            (["app_id": nil], 400), (["app_id": "\"\""], 400), (["app_id": "7"], 400),
            (["app_id": "null"], 400), (["version_name": nil], 400), (["version_name": "[]"], 400),
            (["version_name": "\"\""], 400), (["device_id": "1"], 400),
            (["defaultChannel": "{}"], 400),
            (["unknown": deep], 400), (["platform": "\"\\ud800\""], 400),
            (["x\",\"app_id": "1"], 400),
            (["app_id": "\"com.other.app\""], 404), (["defaultChannel": "\"gamma\""], 404),
            (["defaultChannel": "\"../stable\""], 404), (["app_id": "\"com.demo.app/beta\""], 404),
        ]
        for (changes, status) in table {
            let found = try answer(Self.request(changes), origin)
            expect(found.status, equals: status, "\(changes): \(found.text.prefix(200))")
            guard status >= 400 else { continue }
            let body = try JSONValue.parse(Array(found.text.utf8))
            expect(body["error"]?.asString != nil && body["kind"]?.asString == "failed")
        }
        for text in [
            "", "[]", "null", "{", "{}x", "{\"app_id\":\"a\",\"app_id\":\"a\"}", "\u{feff}{}",
        ] {
            let request = ClientRequest("POST", "/for/capgo/updates", body: Array(text.utf8))
            try expect(answer(request, origin).status, equals: 400, "\(text)")
        }
        let trailing = ClientRequest(
            "POST", "/for/capgo/updates", body: Self.request().body + [0x78])
        try expect(answer(trailing, origin).status, equals: 400)
        var random = SeededRandom(seed: 7)
        let whole = Self.request().body
        for _ in 0..<300 {
            var body = whole
            for _ in 0..<3 {
                body[Int.random(in: 0..<body.count, using: &random)] = UInt8.random(
                    in: 0...255, using: &random)
            }
            let request = ClientRequest("POST", "/for/capgo/updates", body: body)
            let found = try answer(request, origin)
            if ![200, 400, 404].contains(found.status) { Issue.record("\(found)") }
        }
    }

    /// The rule in words: the newest release whose range has the app's version, and whose share has the device.
    @Test func `get what a rule in other words gives, through all that publishers do`() throws {
        var random = SeededRandom(seed: 3)
        var counts: [String: Int] = [:]
        for _ in 0..<20 {
            var origin = ModelOrigin()
            let versions = try (1...3).map { try origin.add("\($0).0.0", ["index.html": "\($0)"]) }
            var live: [(name: String, least: Int?, perMille: Int)] = []
            for _ in 0..<8 {
                let choice = Int.random(in: 0..<4, using: &random)
                let least = [nil, 1, 2].randomElement(using: &random) ?? nil
                let perMille = [1000, 400].randomElement(using: &random) ?? 1000
                let name = choice < 3 ? "\(choice + 1).0.0" : "builtin"
                live.removeAll { $0.name == name }
                live.insert((name, least, perMille), at: 0)
                try origin.publish(
                    choice < 3 ? .version(versions[choice]) : .embedded, now: 1,
                    for: Capgo.self, Self.configuration,
                    rollout: perMille == 1000 ? nil : perMille,
                    requirements: least.map {
                        [Requirement(kind: "appVersionRange", value: ">=\($0).5")]
                    } ?? [])
                for (app, device, running) in [
                    ("1.0.0", "device-1", "builtin"), ("1.5", "device-2", "2.0.0"),
                    ("2.5.0", "device-3", "3.0.0"), ("2.5.0", nil, "1.0.0"), (nil, "device-1", "9"),
                ] {
                    var wanted = "none"
                    for one in live {
                        let number = app.map {
                            $0.prefix(3) == "2.5" ? 2 : $0.prefix(3) == "1.5" ? 1 : 0
                        }
                        if let least = one.least, (number ?? -1) < least { continue }
                        // A roll-out takes nothing back from who has it.
                        if one.name == running { break }
                        if one.perMille < 1000 {
                            guard let device, try ExpoChoiceTests.place(device) < one.perMille
                            else { continue }
                        }
                        wanted = one.name
                        break
                    }
                    let found = try answer(
                        Self.request([
                            "version_build": app.map { "\"\($0)\"" },
                            "device_id": device.map { "\"\($0)\"" },
                            "version_name": "\"\(running)\"",
                        ]), origin
                    ).text
                    let said = try JSONValue.parse(Array(found.utf8))
                    let got = said["version"]?.asString ?? (found == Self.none ? "none" : found)
                    counts[wanted, default: 0] += 1
                    if got != wanted {
                        Issue.record("\(live), \(app ?? ""), \(running): \(got), not \(wanted)")
                    }
                }
            }
        }
        expect(counts.count == 5 && counts.values.allSatisfy { $0 > 30 }, "\(counts)")
    }

    @Test func `cannot be told everything: what, is said before`() throws {
        func objections(
            _ name: String, _ files: [String: String]?, _ requirements: [Requirement] = [],
            isMandatory: Bool = false
        ) throws -> [ClientObjection] {
            try Capgo.objections(
                named: name, files, requirements, isMandatory: isMandatory, for: Self.configuration)
        }
        let page = ["index.html": "x"]
        func paged(_ files: [String: String]) -> [String: String] { page.merging(files) { $1 } }
        let range = Requirement(kind: "appVersionRange", value: "^1")
        let runtime = Requirement(kind: "runtimeVersion", value: "1")
        expectObjections([
            (try objections("1.2.3", page, [range]), nil, ""),
            (try objections("2.0", page), nil, ""),
            (try objections("1.2.3-beta.1", page), nil, ""), (try objections("1", nil), nil, ""),
            (try objections("fall-release", page), true, "fall-release"),
            (try objections("1.2.3", ["www/index.html": "x"]), true, "index.html"),
            (try objections("1.2.3", paged(["a.js.br": "x"])), true, "a.js.br"),
            (try objections("1.2.3", paged(["a.br": "x", "b/.br": ""])), true, "and 1 more"),
            (try objections("1.2.3", paged(["a.BR": "x", "a.brr": "y"])), nil, ""),
            (try objections("1.2.3", page, [.init(kind: "group", value: "t")]), true, "group t"),
            (try objections("1.2.3", page, [runtime]), true, "runtimeVersion 1"),
            (try objections("1.2.3", page, isMandatory: true), false, "mandatory"),
        ])
        // The name is all that clients compare.
        var origin = ModelOrigin()
        let first = try origin.add("1.0.0", page)
        let second = try origin.add("1.0.0", ["index.html": "y"])
        try origin.publish(.version(first), now: 1, for: Capgo.self, Self.configuration)
        expectRefusal(saying: "under another name") {
            try origin.publish(.version(second), now: 2, for: Capgo.self, Self.configuration)
        }
    }

    @Test func `get only archives of what is offered`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("1.0.0", ["index.html": "x"])
        let unpublished = try origin.add("2.0.0", ["index.html": "y"])
        try origin.publish(.version(version), now: 1, for: Capgo.self, Self.configuration)
        let prefix = "/for/capgo/archives/"
        for (name, status) in [
            ("\(version.content).zip", 200), ("\(unpublished.content).zip", 404),
            ("\(version.content)", 404), ("\(version.content).zip/", 404), ("", 404),
            ("%00.zip", 404),
            ("..%2F\(version.content).zip", 404),
            ("\(version.content).from.\(version.content).zip", 404),
            ("\(version.content).x.zip", 404), (String(repeating: "a", count: 65_536), 404),
        ] {
            let answer = try Capgo.answer(
                ClientRequest("GET", prefix + name), Self.configuration, origin)
            expect(answer?.status, equals: status, "\(name.prefix(100))")
        }
        origin.withdraw(.version(version))
        let gone = ClientRequest("GET", prefix + "\(version.content).zip")
        try expect(Capgo.answer(gone, Self.configuration, origin)?.status, equals: 404)
    }
}
