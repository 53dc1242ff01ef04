import ProgramTestSupport

/// What `castree origin serve` answers on all routes of all systems, whoever asks how.
@Suite struct OriginRouteTests {
    let place = Workplace()

    private static let deployments = [
        ("codepush", "KEY=stable"), ("hot-updater", "ios/production=stable"), ("expo", "=stable"),
        ("capgo", "com.example=stable"), ("chcp", "web=stable"), ("meteor", "web=meteor"),
    ]

    /// A release that five systems take, and one of Meteor's, whose clients take no other.
    private func publish() throws {
        let page =
            "<script>__meteor_runtime_config__ = JSON.parse(decodeURIComponent(\"%7B%22autoupdateVersion"
            + "Cordova%22%3A%22m1%22%7D\"))</script>"
        let program =
            #"{"format":"web-program-pre1","version":"m1","cordovaCompatibilityVersions":{"ios":"k"},"#
            + #""manifest":[{"where":"client","type":"js","path":"app/a.js","#
            + #""url":"/app/a.js?hash=d0a55228bb8abafd12a3e77fad5ac7062c461136","#
            + #""size":6,"hash":"d0a55228bb8abafd12a3e77fad5ac7062c461136","cacheable":true}]}"#
        try place.write(
            ["program.json": program, "app/a.js": "run(1)", "index.html": page], to: "meteor")
        try place.castree("adopt", "meteor")
        let bundle = "_expo/static/js/ios/A.hbc"
        try place.add(
            "1",
            [
                "index.html": "<h1>one</h1>", "index.ios.bundle": "ios", bundle: "hbc",
                "assets/4f1c": "picture",
                "metadata.json":
                    #"{"version":0,"bundler":"metro","fileMetadata":{"ios":{"bundle":"\#(bundle)","#
                    + #""assets":[{"path":"assets/4f1c","ext":"png"}]}}}"#,
                "expoConfig.json": #"{"name":"app","runtimeVersion":"1"}"#,
            ])
        for step in [("m1", "meteor"), ("1", "stable")] {
            try place.done(
                "publish", step.0, "origin", "--channel", step.1, "--no-sync")
        }
        for (system, deployment) in Self.deployments {
            try place.enable(system, deployment, of: "origin")
        }
    }

    private func files(below folder: String) throws -> [String] {
        let root = place.directory.appending(path: "origin/\(folder)")
        let all = FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil)
        return (all?.compactMap { $0 as? URL } ?? []).filter { !$0.hasDirectoryPath }
            .map {
                "/\(folder)/" + $0.path(percentEncoded: false).dropFirst(root.path().utf8.count + 1)
            }.sorted()
    }

    /// Routes that answer, each with the fields and the body that it takes; and the same without what they lead to.
    private func routes(_ served: Served) throws -> [(path: String, fields: String, body: String)] {
        func url(_ text: String, _ key: String) throws -> String {
            let rest = try require(
                text.components(separatedBy: "\"\(key)\":\"http://u.example.org").last)
            return String(rest.prefix { $0 != "\"" })
        }
        let capgo =
            #"{"app_id":"com.example","device_id":"d","version_name":"builtin","#
            + #""version_build":"1.0","version_os":"1","version_code":"1","platform":"ios","#
            + #""plugin_version":"6.0.0","is_emulator":false,"is_prod":true}"#
        let expo =
            "expo-protocol-version: 1\r\nexpo-platform: ios\r\nexpo-runtime-version: 1\r\n"
            + "accept: application/expo+json\r\n"
        let check = "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"
        let nil7 = "00000000-0000-0000-0000-000000000000"
        let hot = "/for/hot-updater/app-version/ios/1.0/production/\(nil7)/\(nil7)"
        let report = #"{"deployment_key":"KEY","app_version":"1.0.0","label":"v1"}"#
        let chcp = "/for/chcp/web/chcp.json"
        let www = try url(served.get(chcp).body, "content_url")
        let hotAnswer = try served.get(hot).body
        var manifest = ["expo-protocol-version": "1", "expo-platform": "ios"]
        manifest["expo-runtime-version"] = "1"
        manifest["accept"] = "application/expo+json"
        let told = try served.ask("GET", "/for/expo/manifest", manifest).body
        var routes = [
            (check, "", ""), ("/updateCheck?deploymentKey=KEY&appVersion=1.0.0", "", ""),
            ("/v0.1/public/codepush/report_status/deploy", "", report),
            ("/v0.1/public/codepush/report_status/download", "", report),
            ("/reportStatus/deploy", "", report), ("/reportStatus/download", "", report),
            (try url(served.get(check).body, "download_url"), "", ""), (hot, "", ""),
            (try url(hotAnswer, "fileUrl"), "", ""), (try url(hotAnswer, "manifestUrl"), "", ""),
            ("/for/capgo/updates", "", capgo), ("/for/capgo/stats", "", capgo),
            ("/for/capgo/channel_self", "", capgo),
            (try url(served.post("/for/capgo/updates", capgo).body, "url"), "", ""),
            (chcp, "", ""), ("\(www)/chcp.manifest", "", ""), ("\(www)/index.html", "", ""),
            ("/for/expo/manifest", expo, ""), (try url(told, "url"), "", ""),
            ("/for/meteor/web/__cordova/manifest.json", "", ""),
            ("/for/meteor/web/__cordova/app/a.js", "", ""), ("/for/meteor/web/__cordova/", "", ""),
        ]
        for folder in ["objects", "manifests", "packs", "deliveries", "channels"] {
            routes.append((try require(files(below: folder).first, "\(folder)"), "", ""))
        }
        return routes + [("/origin.json", "", ""), ("/channels.json", "", "")]
    }

    private static let methods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW",
    ]
    private static let versions = [
        ("1.1", ""), ("1.1", "Connection: close\r\n"), ("1.0", ""),
        ("1.0", "Connection: keep-alive\r\n"),
    ]

    @Test func `every answer of every system says its length or closes, whoever asks how`() throws {
        try publish()
        let served = try Served(origin: "origin", place)
        expect(served.ready.contains("capgo, chcp, codepush, expo, hot-updater, meteor"))
        let right = try routes(served)
        // Each leads somewhere, and beside it nowhere.
        let wrong =
            ["/", "/nothing", "/%"]
            + right.map { $0.path.prefix { $0 != "?" } + "x" }
            + right.map { $0.path.prefix { $0 != "?" } + "/../" }
        var (count, statuses) = (0, Set<Int>())
        func check(_ method: String, _ path: String, _ fields: String, _ body: String) throws {
            for (version, connection) in Self.versions {
                let first =
                    "\(method) \(path) HTTP/\(version)\r\nHost: x\r\n\(connection)\(fields)\r\n\(body)"
                let all = try RawAnswer.exchange(
                    served, first + "GET /end HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                let what = Comment(rawValue: "\(first.prefix(300)): \(all.prefix(300))")
                expect(RawAnswer.isDecided(all, method), what)
                if let status = RawAnswer.status(all) { statuses.insert(status) }
                count += 1
            }
        }
        for (path, fields, body) in right + wrong.map({ ($0, "", "") }) {
            for method in Self.methods {
                try check(method, path, fields, "")
                for body in [body, "{"] where !body.isEmpty {
                    try check(method, path, fields + "Content-Length: \(body.utf8.count)\r\n", body)
                }
            }
        }
        // What changes the answer, where there is one.
        let large = String(repeating: "x", count: 65_537)
        for (path, fields, _) in right {
            for method in ["GET", "HEAD"] {
                for more in [
                    "Range: bytes=0-0\r\n", "Range: bytes=999999999-\r\n", "If-None-Match: *\r\n",
                    "If-Match: \"none\"\r\n", "Accept: text/none\r\n", "Accept-Encoding: gzip\r\n",
                ] { try check(method, path, fields + more, "") }
            }
            try check("POST", path, fields + "Content-Length: 65537\r\n", large)
            try check("POST", path, fields + "Expect: 100-continue\r\nContent-Length: 1\r\n", "{")
        }
        for status in [200, 204, 206, 304, 400, 404, 405, 412, 413, 416] {
            expect(statuses.contains(status), "no answer was \(status): \(statuses.sorted())")
        }
        expect(count > 2000, "\(count)")
        try expect(served.end().status, equals: 0)
    }

    // MARK: Epochs

    private static let folders = ["objects", "manifests", "packs", "deliveries", "facts", "twins"]

    /// Leaves all that never changes in an epoch alone, as a copy of a bucket has it.
    private func moveToEpoch() throws {
        let manager = FileManager.default
        let root = place.directory.appending(path: "origin")
        let documents = Self.deployments.map { "for/\($0.0)/documents" }
        for folder in Self.folders + documents {
            let (old, new) = (root.appending(path: folder), root.appending(path: "e/1/\(folder)"))
            guard manager.fileExists(atPath: old.path) else { continue }
            try manager.createDirectory(
                at: new.deletingLastPathComponent(), withIntermediateDirectories: true)
            try manager.moveItem(at: old, to: new)
        }
        for channel in ["stable", "meteor"] {
            let file = root.appending(path: "channels/\(channel).json")
            var pointer = try require(
                JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any])
            pointer["releases"] = (pointer["releases"] as? [[String: Any]])?.map { release in
                var release = release
                for (name, epoch) in [
                    ("manifest", "epoch"), ("delivery", "deliveryEpoch"), ("facts", "factsEpoch"),
                ] where release[name] != nil { release[epoch] = 1 }
                return release
            }
            try JSONSerialization.data(withJSONObject: pointer, options: .sortedKeys).write(
                to: file)
        }
    }

    @Test func `a directory with epochs answers every system, and devices, as one without`() throws
    {
        try publish()
        func answer(_ served: Served, _ path: String, _ fields: String, _ body: String) throws
            -> String
        {
            let method = body.isEmpty ? "GET" : "POST"
            let length = body.isEmpty ? "" : "Content-Length: \(body.utf8.count)\r\n"
            let all = try RawAnswer.exchange(
                served,
                "\(method) \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(fields)\(length)\r\n\(body)"
            )
            return all.components(separatedBy: "\r\n")
                .filter { !$0.lowercased().hasPrefix("date: ") }.joined(separator: "\r\n")
        }
        let before = try Served(origin: "origin", place)
        let routes = try routes(before).filter { !$0.path.hasPrefix("/channels/") }
        let answers = try routes.map { try answer(before, $0.path, $0.fields, $0.body) }
        try expect(before.end().status, equals: 0)
        try moveToEpoch()
        let after = try Served(origin: "origin", place)
        for (route, old) in zip(routes, answers) {
            let isImmutable = Self.folders.contains { route.path.hasPrefix("/\($0)/") }
            let path = isImmutable ? "/e/1\(route.path)" : route.path
            let new = try answer(after, path, route.fields, route.body)
            expect(new == old, "\(path): \(new.prefix(300)), before: \(old.prefix(300))")
        }
        try place.done("--store", "device", "pull", after.url, "--activate", "--quiet")
        try expect(place.contents("device/current/index.html"), equals: "<h1>one</h1>")
        try expect(after.end().errors.isEmpty)
    }
}
