import WebTestSupport

@testable import WebServer

@Suite("A request parser")
struct RequestParserTests {
    private func status(_ outcome: RequestParser.Outcome) -> Int? {
        switch outcome {
        case .needMore: nil
        case .head: 200
        case .failure(let failure): failure.status
        }
    }

    @Test(arguments: RequestCase.all)
    func `judges each request as the RFC says`(_ request: RequestCase) {
        var parser = RequestParser()
        expect(status(parser.parse(request.bytes.span)), equals: request.status)
    }

    @Test(arguments: RequestCase.all)
    func `judges alike however the bytes are split`(_ request: RequestCase) {
        var parser = RequestParser()
        let whole = parser.parse(request.bytes.span)
        let head = parser.head
        // Every position of small requests, some of the large ones.
        let stride = max(1, request.bytes.count / 400)
        for cut in Swift.stride(from: 0, to: request.bytes.count, by: stride) {
            parser.reset()
            let first = parser.parse(request.bytes.span.extracting(..<cut))
            let outcome = first == .needMore ? parser.parse(request.bytes.span) : first
            expect(outcome, equals: whole, "cut at \(cut)")
            if case .head = whole { expect(parser.head.bytes, equals: head.bytes) }
        }
        parser.reset()
        var outcome = RequestParser.Outcome.needMore
        for count in 1...request.bytes.count where outcome == .needMore {
            outcome = parser.parse(request.bytes.span.extracting(..<count))
        }
        expect(outcome, equals: whole, "byte by byte")
    }

    @Test
    func `takes UTF-8 in a target as it is where that is wanted, and nothing else beyond ASCII`() {
        var limits = RequestParser.Limits()
        limits.takesUTF8 = true
        let ordinary = String(repeating: "a", count: 20)
        for (target, wanted) in [
            (Array("/ü".utf8), 200), (Array("/\(ordinary)/日本語.js?q=é".utf8), 200),
            (Array("/😀/\(ordinary)".utf8), 200), (Array("/%C3%BC/ü".utf8), 200),
            (Array("/".utf8) + [0xc3], 400), (Array("/\(ordinary)".utf8) + [0xff, 0x61], 400),
            (Array("/".utf8) + [0xc0, 0xaf], 400), (Array("/ü%".utf8), 400),
            (Array("/ü\u{7f}".utf8), 400), (Array("ü".utf8), 400),
        ] {
            let request = Array("GET ".utf8) + target + Array(" HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
            var parser = RequestParser(limits: limits)
            expect(status(parser.parse(request.span)), equals: wanted, "\(target)")
            var strict = RequestParser()
            expect(status(strict.parse(request.span)), equals: 400, "\(target)")
        }
    }

    @Test func `takes a query as it is, whatever its percent signs say; a path must be right`() {
        for bad in ["%", "%4", "%zz", "%00", "100%", "%%", "a=%&b=%E", "%u00e4", "?%", "%/%"] {
            for (target, wanted) in [
                ("/?\(bad)", 200), ("/a/b?q=\(bad)", 200),
                ("/aaaaaaaaaaaaaaaa?bbbbbbbb\(bad)", 200),
                ("http://a/?\(bad)", 200), ("/%20?\(bad)", 200), ("/x\(bad)y", 400),
            ] where wanted == 200 || !bad.hasPrefix("?") {
                let request = Array("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n".utf8)
                var parser = RequestParser()
                expect(status(parser.parse(request.span)), equals: wanted, "\(target)")
                guard wanted == 200 else { continue }
                expect(parser.head.text(parser.head.target), equals: target)
                expect(parser.head.query.map { parser.head.text($0).hasSuffix(bad) } == true)
            }
        }
    }

    @Test func `finds the parts of a request, and where the next one begins`() throws {
        let text =
            "\r\nPOST /a%20b?c=d&e HTTP/1.1\r\nhost: x:80\r\nX-Many:  1 2 \r\nx-many:\r\n"
            + "Content-Length: 5\r\n\r\nhelloGET"
        var parser = RequestParser()
        let outcome = parser.parse(Array(text.utf8).span)
        expect(outcome, equals: .head(consumed: text.utf8.count - 8, framing: .length(5)))
        let head = parser.head
        expect(head.method, equals: .post)
        expect(head.text(head.path), equals: "/a%20b")
        expect(head.query.map(head.text), equals: "c=d&e")
        expect(head.text(head.target), equals: "/a%20b?c=d&e")
        expect(head.authority == nil)
        expect(head.minorVersion, equals: 1)
        expect(head.text(of: "HOST"), equals: "x:80")
        expect(head.values(of: "X-Many").map(head.text), equals: ["1 2", ""])
        expect(head.value(of: "absent") == nil)
        expect(head.bytes, equals: Array(text.utf8.dropFirst(2).dropLast(8)))
    }

    /// Fields that may be long, where the limits are 200 bytes, and 1,000 for cookies by themselves.
    private static let long: [(fields: [(name: String, count: Int)], status: Int)] = [
        ([("Cookie", 900)], 200), ([("cOOKIE", 900), ("X", 20)], 200), ([("Cookie", 1100)], 431),
        ([("X", 20), ("Cookie", 400), ("Cookie", 400), ("Y", 20)], 200),
        ([("Cookie", 600), ("Cookie", 600)], 431), ([("X", 90), ("Cookie", 900), ("Y", 90)], 431),
        ([("X", 300)], 431), ([("Cookies", 300)], 431), ([("Cooki", 300)], 431),
        ([("Set-Cookie", 300)], 431), ([("Cookie2", 300), ("Cookie", 10)], 431),
        ([("Cookie", 900), ("Cookies", 300)], 431), ([("Referer", 300), ("Cookie", 10)], 431),
    ]

    @Test("counts cookies by themselves where that is wanted, and nothing else", arguments: long)
    func manyCookies(_ row: (fields: [(name: String, count: Int)], status: Int)) {
        var text = "GET / HTTP/1.1\r\nHost: a\r\n"
        for field in row.fields {
            text += field.name + ": " + String(repeating: "c", count: field.count) + "\r\n"
        }
        let bytes = Array((text + "\r\n").utf8)
        var limits = RequestParser.Limits()
        limits.head = 200
        var parser = RequestParser(limits: limits)
        expect(status(parser.parse(bytes.span)), equals: 431)
        limits.cookies = 1000
        parser = RequestParser(limits: limits)
        let whole = parser.parse(bytes.span)
        expect(status(whole), equals: row.status)
        for step in [1, 7, 64] {
            parser.reset()
            var outcome = RequestParser.Outcome.needMore
            for end in stride(from: step, through: bytes.count + step - 1, by: step)
            where outcome == .needMore {
                outcome = parser.parse(bytes.span.extracting(..<min(end, bytes.count)))
            }
            expect(outcome, equals: whole, "\(step) at a time")
        }
    }

    @Test func `lets the authority of an absolute target stand beside the path`() throws {
        let head = try RequestHead(method: "GET", target: "http://a:1/b?c")
        expect(head.authority.map(head.text), equals: "a:1")
        expect(head.text(head.path), equals: "/b")
        let root = try RequestHead(method: "GET", target: "http://a?c")
        expect(root.text(root.path), equals: "/")
        expect(root.query.map(root.text), equals: "c")
        expect(root.authority.map(root.text), equals: "a")
    }

    @Test(arguments: [
        ("1.1", "A: b", true), ("1.1", "Connection: close", false),
        ("1.1", "Connection: x, Close", false), ("1.1", "Connection: closed", true),
        ("1.0", "A: b", false), ("1.0", "Connection: Keep-Alive", true),
        ("1.0", "Connection: keep-alive, close", false),
    ])
    func `knows whether the connection stays`(_ version: String, _ field: String, _ stays: Bool) {
        var parser = RequestParser()
        let text = "GET / HTTP/\(version)\r\nHost: x\r\n\(field)\r\n\r\n"
        _ = parser.parse(Array(text.utf8).span)
        expect(parser.head.isKeepAlive, equals: stays)
    }

    @Test func `is as good as new after a reset`() {
        var parser = RequestParser()
        for request in RequestCase.all {
            _ = parser.parse(request.bytes.span)
            parser.reset()
        }
        let plain = Array("GET / HTTP/1.0\r\n\r\n".utf8)
        expect(parser.parse(plain.span), equals: .head(consumed: plain.count, framing: .none))
        expect(parser.head.fields.isEmpty)
    }

    @Test func `refuses a field that would begin another when a head is made by hand`() throws {
        #expect(throws: (any Error).self) {
            _ = try RequestHead(method: "GET", target: "/", fields: [("A", "1\r\nB: 2")])
        }
        #expect(throws: (any Error).self) {
            _ = try RequestHead(method: "GET", target: "/ HTTP/1.1\r\nA: b")
        }
        let head = try RequestHead(method: "HEAD", target: "/", fields: [("Range", "bytes=0-1")])
        expect(head.text(of: "range"), equals: "bytes=0-1")
    }
}
