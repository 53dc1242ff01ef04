import Expectations

@testable import ServeFromCAS
@testable import WebServer

@Suite("An answer that is passed back")
struct ProxyAnswerTests {
    /// What a client gets when the upstream sends these bytes and closes.
    private func answer(
        _ bytes: String, to request: String = get("/api", "Connection: close\r\n")
    ) throws -> (head: String, rest: [UInt8]) {
        let upstream = try ScriptedUpstream(answering: bytes, closes: true)
        let client = try upstream.proxy().client()
        client.send(request)
        return split(client.readAll())
    }

    @Test
    func `keeps status, phrase, cookies and every end-to-end field, and loses the others`() throws {
        let (head, rest) = try answer(
            "HTTP/1.1 299 Very Fine\r\nSet-Cookie: a=1; Path=/\r\nSet-Cookie: b=2\r\n"
                + "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\nServer: old\r\nX-Empty:\r\n"
                + "Connection: X-Named\r\nX-Named: 1\r\nKeep-Alive: timeout=5\r\nTrailer: X\r\n"
                + "Proxy-Authenticate: Basic\r\nUpgrade: h2c\r\nContent-Length: 2\r\n\r\nok")
        expect(
            head.split(separator: "\r\n").map(String.init),
            equals: [
                "HTTP/1.1 299 Very Fine", "Set-Cookie: a=1; Path=/", "Set-Cookie: b=2",
                "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Server: old", "X-Empty: ",
                "Content-Length: 2", "Connection: close",
            ])
        expect(rest, equals: Array("ok".utf8))
    }

    @Test func `gets a Date when it has none`() throws {
        let (head, _) = try answer("HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n")
        expect(head.contains("\r\nDate: "))
        expect(head.hasPrefix("HTTP/1.1 200 \r\n"))
    }

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc", false),
        // Surplus belongs to nobody.
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n", "abc", false),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nabc", "", false),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "2;x=\"y\"\r\nab\r\n1\r\nc\r\n0\r\nX-Trailer: 1\r\n\r\n", "abc", true
        ),
        ("HTTP/1.1 200 OK\r\n\r\nabc", "abc", true),
        ("HTTP/1.1 200 OK\r\n\r\n", "", true),
        ("HTTP/1.0 200 OK\r\n\r\nabc", "abc", true),
        ("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", false),
        ("HTTP/1.1 204 No Content\r\nContent-Length: 3\r\n\r\nabc", "", false),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 3\r\n\r\nabc", "", false),
        ("HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", "", false),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
                + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", false
        ),
    ])
    func `ends where its framing says`(_ bytes: String, _ body: String, _ isChunked: Bool) throws {
        let (head, rest) = try answer(bytes)
        expect(head.contains("Transfer-Encoding: chunked"), equals: isChunked, "\(head)")
        expect(!head.contains("Link") && !head.contains("Trailer"))
        if isChunked {
            expect(!head.contains("Content-Length"))
            let (content, isWhole) = unchunked(rest)
            expect(isWhole)
            expect(content, equals: Array(body.utf8))
        } else {
            expect(rest, equals: Array(body.utf8))
        }
        expect(!head.contains("204") || !head.contains("Content-Length"))
    }

    @Test func `to HEAD has the fields of GET and no body, and the connection continues`() throws {
        let upstream = try ScriptedUpstream(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nETag: \"x\"\r\n\r\n")
        let client = try upstream.proxy().client()
        for _ in 0..<2 {
            client.send("HEAD /api HTTP/1.1\r\nHost: x\r\n\r\n")
            let response = try require(client.response(toHead: true))
            expect(response.value("Content-Length"), equals: "1000")
            expect(response.value("ETag"), equals: "\"x\"")
        }
        expect(upstream.connectionCount, equals: 1)
    }

    @Test func `to HTTP/1.0 comes without chunks, and its end is the connection's`() throws {
        let (head, rest) = try answer(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            to: "GET /api HTTP/1.0\r\n\r\n")
        expect(!head.contains("Transfer-Encoding"))
        expect(head.contains("Connection: close"))
        expect(rest, equals: Array("abc".utf8))
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
    ])
    func `that is cut short is cut for the client too, never made whole`(_ bytes: String) throws {
        let (head, rest) = try answer(bytes)
        expect(head.hasPrefix("HTTP/1.1 200"))
        if head.contains("chunked") {
            expect(!unchunked(rest).isWhole)
        } else {
            expect(rest, equals: Array("abc".utf8))
            expect(head.contains("Content-Length: 10"))
        }
    }

    @Test func `that is cut short is a reset for a client that knows no other sign`() throws {
        let (sent, seen) = (try Gate(), try Gate())
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
            sent.open()
            seen.wait()
        }
        let client = try upstream.proxy().client()
        client.send("GET /api HTTP/1.0\r\n\r\n")
        sent.wait()
        expect(client.through("\r\n\r\nab"))
        seen.open()
        expect(client.endsWithReset())
    }

    @Test(
        "that is malformed becomes a 502 with a sentence, and nothing of it is passed on",
        arguments: [
            ("SSH-2.0-OpenSSH_9.2\r\n", "begin"), ("\r\nHTTP/1.1 200 OK\r\n\r\n", "begin"),
            ("HTTP/2 200\r\n\r\n", "begin"), ("HTTP/1.2 200 OK\r\n\r\n", "status line"),
            ("HTTP/1.1 2x0 OK\r\n\r\n", "three digits"), ("HTTP/1.1 600 OK\r\n\r\n", "599"),
            ("HTTP/1.1 099 OK\r\n\r\n", "599"), ("HTTP/1.1 2000 OK\r\n\r\n", "599"),
            ("HTTP/1.1  200 OK\r\n\r\n", "digits"), ("HTTP/1.1 200 OK\n\n", "line feed"),
            ("HTTP/1.1 200 OK\r\nX: secret\n\r\n", "line feed"),
            ("HTTP/1.1 200 OK\r\nX: secret\rY: z\r\n\r\n", "carriage return"),
            ("HTTP/1.1 200 OK\r\nX: secret\u{0}\r\n\r\n", "control"),
            ("HTTP/1.1 200 O\u{7}K\r\n\r\n", "control"),
            ("HTTP/1.1 200 OK\r\nX: secret\r\n folded\r\n\r\n", "folded"),
            ("HTTP/1.1 200 OK\r\nX : secret\r\n\r\n", "token"),
            ("HTTP/1.1 200 OK\r\n: secret\r\n\r\n", "token"),
            ("HTTP/1.1 200 OK\r\nsecret\r\n\r\n", "token"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nContent-Length: 5\r\n\r\nsecret", "differ"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 6, 6\r\n\r\nsecret", "number"),
            ("HTTP/1.1 200 OK\r\nContent-Length: +6\r\n\r\nsecret", "number"),
            ("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nsecret", "number"),
            ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "too large"),
            (
                "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\nsecret",
                "contradict"
            ),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\nsecret",
                "contradict"
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\nsecret", "coding"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\nsecret", "coding"),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                "coding"
            ),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\n\r\nsecret", "coding"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n\r\nsecret", "coding"),
            ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.0"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecret\r\n", "malformed"),
            ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nsecret", "without being asked"),
            ("HTTP/1.1 200 OK\r\nX: secret\r\n", "inside the head"),
            ("HTTP", "inside the head"), ("", "without an answer"),
        ])
    func malformed(_ bytes: String, _ word: String) throws {
        let (head, rest) = try answer(bytes)
        let text = String(decoding: rest, as: UTF8.self)
        expect(head.hasPrefix("HTTP/1.1 502"), "\(head)")
        expect(!head.contains("secret") && !text.contains("secret"))
        expect(text.contains(word), "\(text)")
    }

    @Test func `whose head grows beyond every measure is refused, in bytes and in fields`() throws {
        let many = (0..<201).map { "X-\($0): 1\r\n" }.joined()
        try expect(answer("HTTP/1.1 200 OK\r\n\(many)\r\n").head.hasPrefix("HTTP/1.1 502"))
        let allowed = (0..<199).map { "X-\($0): 1\r\n" }.joined()
        try expect(
            answer("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(allowed)\r\n").head
                .hasPrefix("HTTP/1.1 200"))
        let long = String(repeating: "x", count: 70_000)
        try expect(answer("HTTP/1.1 200 OK\r\nX: \(long)\r\n\r\n").head.hasPrefix("HTTP/1.1 502"))
    }

    @Test func `is read the same wherever it is split`() {
        let text = Array(
            ("HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nX: \ty\r\n"
                + "Content-Length: 3\r\nConnection: close\r\n\r\n").utf8)
        for cut in 0...text.count {
            var parser = UpstreamHeadParser()
            var statuses: [Int] = []
            var start = 0
            for end in [cut, text.count] {
                while start < end {
                    guard case .head(let consumed) = parser.parse(text.span.extracting(start..<end))
                    else { break }
                    statuses.append(parser.head.status)
                    if parser.head.status == 200 {
                        expect(parser.head.length, equals: 3)
                        expect(!parser.head.isKeepAlive)
                        expect(parser.head.fields.count, equals: 3)
                    }
                    parser.reset()
                    start += consumed
                }
            }
            expect(statuses, equals: [103, 200], "cut at \(cut)")
            expect(start, equals: text.count)
        }
    }
}
