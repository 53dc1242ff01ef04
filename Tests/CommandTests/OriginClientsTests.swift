import ProgramTestSupport

/// Clients of other systems ask `castree origin serve`, as they do over the wire.
@Suite struct OriginClientsTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add(
            "1", ["index.html": "<h1>one</h1>", "js/ü.js": "run(1)", "index.ios.bundle": "ios"])
        try place.done("publish", "1", "origin", "--no-sync", "--no-packs")
        for (system, deployment) in [
            ("codepush", "KEY=stable"), ("hot-updater", "ios/production=stable"),
            ("capgo", "com.example=stable"), ("chcp", "web=stable"),
        ] {
            try place.enable(system, deployment, of: "origin")
        }
    }

    private func serve() throws -> Served { try Served(origin: "origin", place) }

    private static let check =
        "/v0.1/public/codepush/update_check?deployment_key=KEY&app_version=1.0.0"

    private func update(_ served: Served, hash: String? = nil) throws -> JSON {
        let query = hash.map { "&package_hash=\($0)" } ?? ""
        let answer = try served.get(Self.check + query, [:])
        expect(answer.status == 200 && answer.head.contains("content-type: application/json"))
        let shape: JSON = [
            "download_url label package_hash": "text", "is_available": "flag",
            "package_size": "number",
        ]
        return try JSON(answer.body, of: ["update_info": shape]).update_info
    }

    /// The target that a URL of the operator's base leads to.
    private func target(_ url: String) throws -> String {
        try require(url.hasPrefix("http://u.example.org/"))
        return String(url.dropFirst("http://u.example.org".count))
    }

    /// An answer's status, its fields and its bytes.
    private func fetch(
        _ served: Served, _ target: String, _ fields: String...
    ) throws -> (status: Int, head: String, bytes: [UInt8]) {
        try fetch(served, Array(target.utf8), fields)
    }

    private func fetch(
        _ served: Served, _ target: [UInt8], _ fields: [String] = [], method: String = "GET"
    ) throws -> (status: Int, head: String, bytes: [UInt8]) {
        try RawAnswer.parts(served, target, fields, method: method)
    }

    /// The files of an archive, as Python's zipfile unpacks them after testing it.
    private func unpacked(_ archive: [UInt8]) throws -> [String: String] {
        let name = UUID().uuidString
        let file = place.directory.appending(path: name + ".zip")
        try Data(archive).write(to: file)
        let script = """
            import json, sys, zipfile
            archive = zipfile.ZipFile(sys.argv[1])
            assert archive.testzip() is None
            print(json.dumps({name: archive.read(name).decode() for name in archive.namelist()}))
            """
        let done = try place.python(["-c", script, file.path])
        return try JSON(done.output).members.mapValues(\.text)
    }

    @Test("a CodePush client gets a full archive, in ranges too, and then the difference")
    func codePush() throws {
        let served = try serve()
        expect(served.ready.hasSuffix("to clients of capgo, chcp, codepush, hot-updater\n"))
        let first = try update(served)
        let path = try target(first.download_url.text)
        let whole = try fetch(served, path)
        expect(whole.status == 200 && whole.bytes.count == first.package_size.number)
        expect(whole.head.contains("Content-Length: \(first.package_size.number)\r\n"))
        expect(
            !whole.head.lowercased().contains("transfer-encoding") && !whole.head.contains("evil"))
        let one = [
            "CodePush/index.html": "<h1>one</h1>", "CodePush/js/ü.js": "run(1)",
            "CodePush/index.ios.bundle": "ios",
        ]
        try expect(unpacked(whole.bytes), equals: one)
        // Any two ranges together are the archive.
        let tag = try require(
            whole.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }
        ).dropFirst(6)
        for cut in [
            1, 30, 31, 50, 90, 200, first.package_size.number - 22, first.package_size.number - 1,
        ] {
            let left = try fetch(served, path, "Range: bytes=0-\(cut - 1)")
            let right = try fetch(served, path, "Range: bytes=\(cut)-", "If-Range: \(tag)")
            expect(left.status == 206 && right.status == 206)
            expect(left.bytes + right.bytes, equals: whole.bytes, "\(cut)")
        }
        let head = try fetch(served, Array(path.utf8), method: "HEAD")
        expect(head.status == 200 && head.bytes.isEmpty)
        expect(head.head.contains("Content-Length: \(first.package_size.number)\r\n"))
        try expect(fetch(served, path, "If-None-Match: \(tag)").status, equals: 304)
        try expect(
            fetch(served, path, "Range: bytes=\(first.package_size.number)-").status, equals: 416)

        try place.add("2", ["index.html": "<h1>two</h1>", "index.ios.bundle": "ios"])
        try place.done("publish", "2", "origin", "--no-sync", "--no-packs")
        let second = try update(served, hash: first.package_hash.text)
        expect(second.is_available.isTrue && second.label != first.label)
        let difference = try fetch(served, try target(second.download_url.text))
        expect(difference.bytes.count, equals: second.package_size.number)
        let files = try unpacked(difference.bytes)
        expect(
            files,
            equals: [
                "CodePush/index.html": "<h1>two</h1>",
                "hotcodepush.json": "{\"deletedFiles\":[\"CodePush/js/ü.js\",\"CodePush/js\"]}",
            ])
        try expect(update(served, hash: second.package_hash.text).is_available, equals: false)
        // A release that is taken back is served to nobody any more.
        try place.done("withdraw", "2", "origin", "--no-sync")
        try expect(fetch(served, try target(second.download_url.text)).status, equals: 404)
        try expect(served.end().errors.isEmpty)
    }

    @Test("a client that asks while somebody publishes gets the old release whole or the new")
    func whilePublishing() throws {
        let served = try serve()
        let old = try update(served)
        try place.add("2", ["index.html": "<h1>two</h1>"])
        let publisher = try Running(
            .castree, ["publish", "2", "origin", "--no-packs"], in: place.directory)
        var labels: Set<String> = []
        let end = ContinuousClock.now + .seconds(60)
        while labels.isSubset(of: [old.label.text]), ContinuousClock.now < end {
            let now = try update(served)
            labels.insert(now.label.text)
            let archive = try fetch(served, try target(now.download_url.text))
            expect(archive.status == 200 && archive.bytes.count == now.package_size.number)
        }
        try expect(publisher.finished().status, equals: 0)
        try expect(update(served).label != old.label)
        try expect(served.end().errors.isEmpty)
    }

    @Test func `the other systems' clients are answered as well`() throws {
        let served = try serve()
        let nil36 = "00000000-0000-0000-0000-000000000000"
        let bundle = try served.get(
            "/for/hot-updater/app-version/ios/1.0.0/production/\(nil36)/\(nil36)", [:])
        let found = try JSON(bundle.body, of: ["status fileUrl fileHash": "text"])
        expect(found.status, equals: "UPDATE")
        let archive = try fetch(served, try target(found.fileUrl.text))
        try Data(archive.bytes).write(to: place.directory.appending(path: "bundle.zip"))
        let sum = try place.shell("openssl dgst -sha256 -r bundle.zip")
        expect(String(sum.text.prefix(64)), equals: found.fileHash.text)
        // chcp's clients send names beyond ASCII as they are.
        let json = try served.get("/for/chcp/web/chcp.json", [:])
        let config = try JSON(json.body, of: ["content_url": "text"])
        let folder = try target(config.content_url.text)
        for name in ["js/ü.js", "js/%C3%BC.js", "js/%c3%bc.js"] {
            let file = try fetch(served, Array("\(folder)/\(name)".utf8))
            expect(file.status == 200 && file.bytes == Array("run(1)".utf8), "\(name)")
        }
        try expect(fetch(served, Array("\(folder)/js/".utf8) + [0xfc]).status, equals: 400)
        // Capgo's post what they run.
        let body =
            #"{"app_id":"com.example","device_id":"device-7","platform":"ios","version_name":"builtin","version_build":"1.0.0"}"#
        let answer = try served.post("/for/capgo/updates", body)
        expect(answer.status, equals: 200, "\(answer)")
        // They ask for their channel by PUT, and leave it by DELETE: an answer of theirs, no refusal of the method.
        for method in ["PUT", "DELETE", "POST", "GET"] {
            let said = try fetch(
                served, Array("/for/capgo/channel_self".utf8), ["Content-Length: 0"], method: method
            )
            expect(said.status == 200 && said.bytes.starts(with: "{\"error\":".utf8), "\(method)")
        }
        let wrong = try fetch(served, Array("/for/capgo/updates".utf8), method: "PUT")
        expect(wrong.status == 405 && wrong.head.contains("allow: POST"), "\(wrong.head)")
        try place.write(["post.json": body], to: ".")
        let printed = try place.castree(
            "origin", "answer", "origin", "POST", "/for/capgo/updates", "--body", "post.json",
            "--json")
        let said = try printed.document(.answer)
        expect(said.status == 200 && said.body == answer.body)
        try expect(served.end().errors.isEmpty)
    }

    @Test("what a prune removes while an archive is sent cuts it, and gives no wrong byte")
    func prunedArchive() throws {
        var random = SystemRandomNumberGenerator()
        for name in ["a", "b"] {
            var text = ""
            for _ in 0..<1 << 19 { text += String(random.next(), radix: 36) }
            try place.write([name: text], to: "release-3")
        }
        try place.done("add", "release-3", "--version", "3", "--no-sync")
        try place.done("publish", "3", "origin", "--no-sync", "--no-packs")
        let served = try serve()
        let update = try update(served)
        let path = try target(update.download_url.text)
        let whole = try fetch(served, path)
        expect(whole.bytes.count, equals: update.package_size.number)
        let peer = TestPeer(try TestSocket.connected(to: served.port), isClient: true)
        peer.send("GET \(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        expect(peer.fill())
        try place.done("withdraw", "3", "origin", "--no-sync")
        try place.done("prune", "origin", "--grace", "0s", "--no-sync")
        let all = peer.readAll()
        let end = try require(all.firstRange(of: Array("\r\n\r\n".utf8)))
        expect(whole.bytes.starts(with: all[end.upperBound...]))
        try expect(fetch(served, path).status, equals: 404)
    }
}
