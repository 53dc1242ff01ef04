import ProgramTestSupport

/// `castree origin serve` as a process, with the files that castree's own devices ask for.
@Suite struct OriginServerTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("publish", "1", "origin", "--no-sync", "--no-packs")
    }

    private func serve(_ arguments: String...) throws -> Served {
        try Served(origin: "origin", place, arguments)
    }

    /// The address of the object with `<h1>one</h1>`, and its path.
    private func page() throws -> (address: String, path: String) {
        let shown = try place.castree("show", "1", "--json").text
        let address = try require(
            shown.split(separator: "\"").first { text in
                text.utf8.count == 64
                    && (try? place.contents(place.object(text, in: "origin")))
                        == Release.first["index.html"]
            })
        return (String(address), "/objects/\(address.prefix(2))/\(address.dropFirst(2))")
    }

    @Test func `it says when it is ready, devices pull from it, and a signal ends it`() throws {
        let served = try serve()
        expect(
            served.ready,
            equals:
                "Serving origin at http://127.0.0.1:\(served.port); no other system is enabled (castree origin enable)\n"
        )
        try place.done(
            "--store", "device", "pull", served.url, "--activate", "--quiet")
        try expect(place.contents("device/current/index.html"), equals: Release.first["index.html"])
        let ended = try served.end()
        expect(ended.status == 0 && ended.errors.isEmpty, "\(ended)")
        let json = try serve("--json")
        let ready = try JSON(json.ready, of: .servedOrigin)
        expect(ready.url == "http://127.0.0.1:\(ready.port)" && ready.systems.isEmpty)
        try expect(json.end(SIGINT).status, equals: 130)
    }

    /// RFC 9110, sections 9.3.2, 13 and 14.
    @Test func `objects have ranges, conditions and heads, and are kept for ever`() throws {
        let served = try serve()
        let (address, path) = try page()
        let whole = try served.get(path)
        expect(whole.status == 200 && whole.body == "<h1>one</h1>")
        for field in [
            "ETag: \"\(address)\"", "Content-Length: 12", "Accept-Ranges: bytes",
            "Cache-Control: public, max-age=31536000, immutable",
            "content-type: application/octet-stream",
        ] {
            expect(whole.head.contains(field), "\(field)")
        }
        let head = try served.ask("HEAD", path, [:])
        expect(head.status == 200 && head.body.isEmpty && head.head.contains("Content-Length: 12"))
        let tag = "\"\(address)\""
        let cases: [(fields: [String: String], status: Int, body: String, range: String?)] = [
            (["Range": "bytes=4-6"], 206, "one", "bytes 4-6/12"),
            (["Range": "bytes=-5"], 206, "</h1>", "bytes 7-11/12"),
            (["Range": "bytes=4-6", "If-Range": tag], 206, "one", "bytes 4-6/12"),
            (["Range": "bytes=4-6", "If-Range": "\"other\""], 200, "<h1>one</h1>", nil),
            (["Range": "bytes=4-6, 8-9"], 200, "<h1>one</h1>", nil),
            (["Range": "lines=1-2"], 200, "<h1>one</h1>", nil),
            (["Range": "bytes=12-"], 416, "", "bytes */12"),
            (["If-None-Match": tag], 304, "", nil), (["If-None-Match": "*"], 304, "", nil),
            (["If-None-Match": "\"other\""], 200, "<h1>one</h1>", nil),
            (["If-Match": "\"other\""], 412, "", nil),
        ]
        for (fields, status, body, range) in cases {
            let answer = try served.get(path, fields)
            expect(answer.status, equals: status, "\(fields)")
            if status < 400 { expect(answer.body, equals: body, "\(fields)") }
            if let range { expect(answer.head.contains("Content-Range: \(range)"), "\(fields)") }
        }
    }

    @Test func `a pointer is asked for again each time, and counts as soon as it is there`() throws
    {
        let served = try serve()
        let first = try served.get("/channels/stable.json")
        expect(first.status == 200 && first.head.contains("cache-control: no-cache"))
        expect(first.body, equals: (try place.contents("origin/channels/stable.json")))
        let tag = try require(
            first.head.split(separator: "\r\n").first { $0.hasPrefix("ETag: ") }
        ).dropFirst(6)
        let same = try served.get("/channels/stable.json", ["If-None-Match": String(tag)])
        expect(same.status == 304 && same.body.isEmpty)
        try place.add("2", Release.second)
        try place.castree("publish", "2", "origin", "--no-sync", "--no-packs")
        let second = try served.get("/channels/stable.json", ["If-None-Match": String(tag)])
        expect(second.status == 200 && second.body.contains("\"version\":\"2\""))
    }

    @Test func `what is no file for devices is not there, however it is spelled`() throws {
        try place.write(["secret": "mine"], to: ".")
        try place.write(["stable.json": "{\"deployments\":{}}"], to: "origin/for/capgo")
        try place.write(["notes.txt": "mine"], to: "origin")
        let served = try serve()
        let (_, path) = try page()
        let escaped = path.replacingOccurrences(of: "/objects/", with: "/objects%2F")
        for target in [
            "/", "/objects", "/objects/", "/secret", "/notes.txt", "/../secret",
            "/objects/../../secret", "/objects/%2e%2e/%2e%2e/secret", "/.publish/lock",
            "/for/capgo/stable.json", "/for/../for/capgo/stable.json", escaped, path + "/",
            "/" + path, path.uppercased(), "/channels/../origin.json", "/channels/.json",
            "/channels/%73table.json", "/manifests/stable.json", "/objects/ab/cd", "/?/origin.json",
            "/objects/" + String(repeating: "a", count: 7000), "/ü", "/channels/no-such.json",
            "/e/1/objects/aa/" + String(repeating: "b", count: 62),
        ] {
            let answer = try RawAnswer.exchange(
                served, "GET \(target) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            expect(answer.hasPrefix("HTTP/1.1 404 "), "\(target.prefix(80)) \(answer.prefix(200))")
            expect(!answer.contains("mine") && !answer.contains("deployments"), "\(target)")
        }
        try expect(served.end().errors.isEmpty)
    }

    @Test("requests that are malformed, too large or injected are refused or change nothing")
    func malformed() throws {
        let served = try serve()
        let (_, path) = try page()
        let large = String(repeating: "x", count: 65_537)
        let end = "Host: x\r\nConnection: close\r\n\r\n"
        let cases: [(request: String, status: Int)] = [
            ("GET /a%00b HTTP/1.1\r\n" + end, 400), ("GET /a%2 HTTP/1.1\r\n" + end, 400),
            ("GET /\u{0}a HTTP/1.1\r\n" + end, 400),
            ("GET /\(large) HTTP/1.1\r\n" + end, 414), ("GET a HTTP/1.1\r\n" + end, 400),
            ("GET / HTTP/1.1\r\nX: \(large)\r\n" + end, 431),
            ("GET / HTTP/1.1\r\nHost: a\r\n" + end, 400),
            ("GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n" + end, 400),
            ("PUT \(path) HTTP/1.1\r\n" + end, 405), ("DELETE / HTTP/1.1\r\n" + end, 405),
            ("POST /stats HTTP/1.1\r\nContent-Length: 65537\r\n\(end)\(large)", 413),
            ("POST /stats HTTP/1.1\r\nContent-Length: 65536\r\n\(end)\(large.dropLast())", 404),
            ("GET \(path) HTTP/1.1\r\nRange: bytes=0-0\r\nRange: bytes=1-1\r\n" + end, 200),
            (
                "GET http://evil.example\(path) HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
                200
            ),
        ]
        for (request, status) in cases {
            let answer = try RawAnswer.exchange(served, request)
            expect(
                answer.hasPrefix("HTTP/1.1 \(status) "),
                "\(request.prefix(60)): \(answer.prefix(60))")
            expect(!answer.contains("evil"))
        }
        // Bytes beyond ASCII are no request unless they are UTF-8.
        let torn = Array("GET /".utf8) + [0xc3] + Array(" HTTP/1.1\r\n\(end)".utf8)
        try expect(RawAnswer.bytes(served, torn).starts(with: "HTTP/1.1 400 ".utf8))
        try expect(served.get(path).status, equals: 200)
    }

    @Test("an object that is damaged is not served, and is served again when it is mended")
    func damagedObject() throws {
        let served = try serve()
        let (_, path) = try page()
        try place.damage("origin\(path)", with: "<h1>0ne</h1>")
        try expect(served.get(path).status, equals: 500)
        try place.damage("origin\(path)", with: "<h1>one</h1>")
        try expect(served.get(path).body, equals: "<h1>one</h1>")
        let ended = try served.end()
        expect(ended.errors.contains("do not match its address"), "\(ended)")
    }

    @Test func `a file that a prune removes during its download comes whole`() throws {
        let content = String(repeating: "0123456789abcdef", count: 1 << 19)
        try place.add("large", ["file": content])
        try place.castree("publish", "large", "origin", "--no-sync", "--no-packs")
        let shown = try place.castree("show", "large", "--json").text
        let address = try require(
            shown.split(separator: "\"").first {
                $0.utf8.count == 64
                    && place.exists("origin/objects/\($0.prefix(2))/\($0.dropFirst(2))")
            })
        let path = "/objects/\(address.prefix(2))/\(address.dropFirst(2))"
        let served = try serve()
        let answer = try served.ask("GET", path, [:]) {
            try FileManager.default.removeItem(at: place.directory.appending(path: "origin\(path)"))
        }
        // The removal may have come before the answer: then the file is not there, and never a part of it.
        expect(
            answer.status == 404 || answer.body.utf8.count == content.utf8.count,
            "\(answer.head), \(answer.body.utf8.count) bytes")
        try expect(served.get(path).status, equals: 404)
        let ended = try served.end()
        expect(!ended.errors.contains("is not in origin"), "\(ended)")
    }

    @Test func `the access log names no device`() throws {
        let served = try serve("--access-log", "log")
        _ = try served.get("/channels/stable.json?client_unique_id=dev-1")
        try expect(served.end().status, equals: 0)
        let log = try place.contents("log")
        expect(log.contains(" GET /channels/stable.json 200 ") && !log.contains("dev-1"), "\(log)")
    }

    @Test func `what it cannot serve is said, with the exit status of its kind`() throws {
        let cases: [(arguments: [String], status: Int32, message: String)] = [
            (["nowhere"], 3, "there is no origin in nowhere"),
            (["s3://bucket/app"], 2, "give --cache a directory"),
            (["https://u.example.org/app"], 1, "answered from a directory"),
            (["origin", "--listen", "8090"], 2, "--listen takes an address"),
            (["origin", "--listen", "localhost:1"], 2, "--listen takes an address"),
            (["origin", "--base-url", "u.example.org"], 2, "a base URL is http:// or https://"),
            (["origin", "--trust", "nowhere.pub"], 1, "nowhere.pub"),
        ]
        for (arguments, status, message) in cases {
            try place.ended(status, words: ["origin", "serve"] + arguments, saying: message)
        }
    }

    @Test func `an answer is printed as the server would give it`() throws {
        let (address, path) = try page()
        let text = try place.done("origin", "answer", "origin", "GET", path)
        expect(
            text.text.hasPrefix("HTTP/1.1 200 OK\n") && text.text.hasSuffix("\n\n<h1>one</h1>\n"))
        // Who sends the file just now continues with what it had.
        try place.write(["part": "before"], to: ".")
        let (part, kept) = (place.url("part"), place.url("kept"))
        try FileManager.default.linkItem(at: part, to: kept)
        let json = try place.castree(
            "origin", "answer", "origin", "GET", "https://u.example.org" + path, "--header",
            "Range: bytes=4-6", "--json", "--output", "part")
        let answer = try json.document(.answer)
        expect(answer.status == 206 && answer.body == "one" && answer.bytes == 3)
        expect(answer.fields.contains { $0.name == "etag" && $0.value == "\"\(address)\"" })
        try expect(place.contents("part") == "one" && place.contents("kept") == "before")
        try place.write(["request": "HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n"], to: ".")
        let head = try place.castree("origin", "answer", "origin", "--request", "request")
        expect(head.text.hasPrefix("HTTP/1.1 200 OK\n") && !head.text.contains("<h1>"))
        let none = try place.castree("origin", "answer", "origin", "GET", "/nothing")
        expect(none.status == 0 && none.text.hasPrefix("HTTP/1.1 404 Not Found\n"))
        // A web server that shows the file continues with what was right.
        let refused = try place.run(
            .castree, ["origin", "answer", "origin", "GET", "/nothing", "--output", "part"])
        expect(refused.status != 0 && refused.errors.contains("404 Not Found"), "\(refused)")
        try expect(place.contents("part"), equals: "one")
        let whole = try place.castree("origin", "answer", "origin", "GET", path, "--output", "part")
        try expect(place.contents("part"), equals: "<h1>one</h1>", "\(whole)")
        for wrong in [
            ["origin"], ["origin", "GET"], ["origin", "GET", "/", "--request", "request"],
            ["origin", "GET", "/a b"],
        ] {
            try expect(
                place.run(.castree, ["origin", "answer"] + wrong).status, equals: 2, "\(wrong)")
        }
    }
}
