import OriginTestSupport

/// nginx over a published directory, with the configuration of docs/origin-format.md.
@Suite("A published directory behind nginx", .enabled(if: Nginx.isInstalled))
struct WebServerTests {
    @Test
    func `is fetched with curl byte for byte: pointer, manifest, objects, and no log`() throws {
        let place = try PublishingPlace()
        let plan = try place.publish("2")
        let server = try Nginx(serving: Self.served(place.origin))
        for (path, bytes) in try place.published()
        where !path.hasPrefix("log/") && path != OriginLayout.marker {
            let answer = try server.fetch(path)
            expect(answer.body, equals: bytes, "\(path)")
            expect(answer.head.hasPrefix("HTTP/1.1 200"), "\(path)")
        }
        let pointer = try server.fetch(OriginLayout.pointer(.stable))
        try expect(ChannelPointer(parsing: pointer.body, of: .stable), equals: plan.pointer)
        expect(pointer.head.contains("Cache-Control: no-cache"))
        expect(pointer.head.contains("Content-Type: application/json"))
        let object = try server.fetch(OriginLayout.path(.object, plan.objects[0].address))
        expect(object.head.contains("Cache-Control: public, max-age=31536000, immutable"))
        expect(object.head.contains("Content-Type: application/octet-stream"))
        expect(!object.head.contains("Content-Encoding"))
        try expect(server.fetch(".publish/lock").head.hasPrefix("HTTP/1.1 404"))
        // Nothing new is one small answer.
        let tag = try require(
            pointer.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }?.dropFirst(6))
        let again = try server.fetch(
            OriginLayout.pointer(.stable), fields: ["If-None-Match: \(tag)"])
        expect(again.head.hasPrefix("HTTP/1.1 304") && again.body.isEmpty)
    }

    @Test("all that devices fetch is there, also of a pruned bucket's copy and of a signed origin")
    func everyKindOfFile() throws {
        let place = try PublishingPlace()
        try place.publish("2")
        let address = try ObjectID(of: Array("any".utf8))
        let kinds: [OriginKey.Kind] = [.object, .manifest, .places, .pack, .delivery]
        let paths =
            kinds.map { OriginLayout.path($0, address, in: 3) }
            + [.object, .manifest, .pack, .delivery].map { OriginLayout.path($0, address) }
            + ["\(OriginLayout.trust)/2.json"]
        for path in paths {
            let file = URL(filePath: place.origin).appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(path.utf8).write(to: file)
        }
        let server = try Nginx(serving: Self.served(place.origin))
        for path in paths {
            let answer = try server.fetch(path)
            expect(answer.body, equals: Array(path.utf8), "\(path): \(answer.head)")
        }
    }

    /// The page's server block, for this origin.
    private static func served(_ root: String) throws -> String {
        let page = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../docs/origin-format.md"), encoding: .utf8)
        let start = try require(page.range(of: "  root /srv/www/updates;\n")).upperBound
        let end = try require(page.range(of: "\n}\n", range: start..<page.endIndex)).lowerBound
        return "root \(root);\n\(page[start..<end])"
    }
}

extension Nginx {
    fileprivate func fetch(
        _ path: String, fields: [String] = []
    ) throws -> (head: String, body: [UInt8]) {
        let name = directory.appending(UUID().uuidString)
        let words = [
            "curl", "-sS", "--max-time", "300", "-D", name + ".head", "-o", name + ".body",
        ]
        _ = try OtherProgram(words + fields.flatMap { ["-H", $0] } + ["\(url)/\(path)"])
        let head = try Data(contentsOf: URL(filePath: name + ".head"))
        // Without a body curl makes no file.
        let body = (try? Data(contentsOf: URL(filePath: name + ".body"))) ?? Data()
        return (String(decoding: head, as: UTF8.self), Array(body))
    }
}
