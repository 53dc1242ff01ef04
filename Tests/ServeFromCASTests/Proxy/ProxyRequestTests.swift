import Expectations

@testable import ServeFromCAS

@Suite("A request that is passed on")
struct ProxyRequestTests {
    private static let empty = "HTTP/1.1 204 No Content\r\n\r\n"

    /// The head that an upstream gets for a request.
    private func seen(
        _ request: String, _ options: ProxyOptions = ProxyOptions()
    ) throws -> (lines: [String], port: UInt16) {
        let upstream = try ScriptedUpstream(answering: Self.empty)
        try expect(upstream.proxy(options).client().status(request), equals: 204)
        let head = try require(upstream.heads.all.first)
        return (head.split(separator: "\r\n").map(String.init), upstream.port)
    }

    @Test func `keeps method, target, cookies and every end-to-end field, in order`() throws {
        let (lines, port) = try seen(
            "PROPFIND /api/a?b HTTP/1.1\r\nHost: app.test\r\nCookie: a=1; b=2\r\nCookie: c=3\r\n"
                + "Authorization: Basic eDp5\r\nX-Own:  v \r\nX-Empty:\r\n\r\n")
        expect(
            lines,
            equals: [
                "PROPFIND /api/a?b HTTP/1.1", "Host: 127.0.0.1:\(port)", "Cookie: a=1; b=2",
                "Cookie: c=3", "Authorization: Basic eDp5", "X-Own: v", "X-Empty: ",
                "X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: http",
                "X-Forwarded-Host: app.test",
            ])
    }

    @Test(
        "keeps a query byte by byte, also one that is no percent-encoding",
        arguments: ["q=100%", "%", "a=%zz&b=%4", "%00", "x=%u00e4&&=", "a=b?c=%/d|{}^`\"<>"])
    func query(_ query: String) throws {
        let (lines, _) = try seen(get("/api/a?\(query)"))
        expect(lines.first, equals: "GET /api/a?\(query) HTTP/1.1")
    }

    @Test func `loses what belongs to the client's connection, and what it names`() throws {
        let (lines, _) = try seen(
            get(
                "/api",
                "Connection: close, X-Named\r\nConnection: keep-alive\r\nX-Named: 1\r\n"
                    + "Keep-Alive: timeout=5\r\nProxy-Connection: keep-alive\r\n"
                    + "Proxy-Authorization: Basic x\r\nTE: trailers\r\nTrailer: X\r\n"
                    + "Upgrade: h2c\r\nHTTP2-Settings: AAM\r\nProxy: http://evil\r\nX-Kept: 1\r\n"
            ).replacing("close, ", with: ""))
        expect(lines.dropFirst(2).first, equals: "X-Kept: 1")
        expect(lines.count, equals: 6)
    }

    @Test func `says who the client is, and believes nobody else who says so`() throws {
        let claims =
            "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n"
            + "X-Forwarded-Port: 1\r\nForwarded: for=6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n"
            + "X_Forwarded_For: 6.6.6.6\r\n"
        let (lines, _) = try seen(get("/api", claims))
        expect(!lines.contains { $0.contains("6.6.6.6") || $0.contains("evil") })
        expect(lines.contains("X-Forwarded-For: 127.0.0.1"))
        expect(lines.contains("X-Forwarded-Proto: http"))
        expect(!lines.contains("X-Forwarded-Port: 1"))
    }

    @Test(
        "has exactly one framing",
        arguments: [
            ("POST", "Content-Length: 3\r\n", "abc", "Content-Length: 3"),
            ("POST", "Content-Length: 3\r\nContent-Length: 3\r\n", "abc", "Content-Length: 3"),
            ("POST", "Content-Length: 003\r\n", "abc", "Content-Length: 3"),
            ("POST", "", "", "Content-Length: 0"),
            ("PUT", "Content-Length: 0\r\n", "", "Content-Length: 0"),
            ("DELETE", "Content-Length: 0\r\n", "", "Content-Length: 0"), ("GET", "", "", nil),
            ("GET", "Content-Length: 3\r\n", "abc", "Content-Length: 3"),
            (
                "POST", "Transfer-Encoding: Chunked\r\n", "3;x=y\r\nabc\r\n0\r\nX-T: 1\r\n\r\n",
                "Transfer-Encoding: chunked"
            ),
        ] as [(String, String, String, String?)])
    func framing(_ method: String, _ fields: String, _ body: String, _ expected: String?) throws {
        let bodies = Sink<[UInt8]>()
        let upstream = try ScriptedUpstream { peer in
            guard let head = peer.head() else { return }
            if head.contains("chunked") {
                bodies.add(peer.through(Array("0\r\n\r\n".utf8)) ?? [])
            } else if head.contains("Content-Length: 3") {
                bodies.add(peer.read(3))
            }
            peer.send(Self.empty)
        }
        let client = try upstream.proxy().client()
        expect(
            client.status("\(method) /api HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\(body)"), equals: 204
        )
        let lines = try require(upstream.heads.all.first).split(separator: "\r\n")
        let framings = lines.filter {
            $0.lowercased().hasPrefix("content-length") || $0.lowercased().hasPrefix("transfer")
        }
        expect(framings.map(String.init), equals: [expected].compactMap { $0 })
        if let sent = bodies.all.first {
            let content = expected?.contains("chunked") == true ? unchunked(sent).body : sent
            expect(content, equals: Array("abc".utf8))
        }
    }

    @Test(arguments: [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n", "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding : chunked\r\n", "Transfer-Encoding:\u{0B}chunked\r\n",
        "Transfer-Encoding: chunked\r\n folded\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: +3\r\n", "Content-Length: 3, 3\r\n", "Content-Length: 0x3\r\n",
        "Content-Length: -1\r\n", "Content-Length: \r\n", "X: a\nContent-Length: 3\r\n",
        "X: a\rContent-Length: 3\r\n",
    ])
    func `that two servers could read in two ways never leaves`(_ fields: String) throws {
        let upstream = try ScriptedUpstream(answering: Self.empty)
        let server = try upstream.proxy()
        let client = try server.client()
        client.send(
            "POST /api HTTP/1.1\r\nHost: x\r\n\(fields)\r\n0\r\n\r\nGET /api/smuggled HTTP/1.1\r\n\r\n"
        )
        let answer = split(client.readAll())
        expect(
            answer.head.hasPrefix("HTTP/1.1 400") || answer.head.hasPrefix("HTTP/1.1 501"),
            "\(answer.head)")
        expect(upstream.heads.all.isEmpty)
    }

    @Test("whose chunks go wrong ends the upstream's connection, and nothing of it is completed")
    func malformedChunks() throws {
        let rests = Sink<[UInt8]>()
        let done = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            rests.add(peer.read(1 << 20))
            done.open()
        }
        let client = try upstream.proxy().client()
        client.send(
            "POST /api HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n")
        expect(split(client.readAll()).head.hasPrefix("HTTP/1.1 400"))
        done.wait()
        expect(unchunked(rests.all.first ?? []).isWhole, equals: false)
    }

    @Test func `whose fields Connection names cannot take Host and framing away`() throws {
        let (lines, port) = try seen(
            "POST /api HTTP/1.1\r\nHost: x\r\nConnection: Host, Content-Length, X-Forwarded-For\r\n"
                + "Content-Length: 0\r\n\r\n")
        expect(lines[1], equals: "Host: 127.0.0.1:\(port)")
        expect(lines.contains("Content-Length: 0"))
        expect(lines.contains("X-Forwarded-For: 127.0.0.1"))
    }

    @Test func `waits for the upstream's 100, which the client gets once`() throws {
        let upstream = try ScriptedUpstream { peer in
            guard peer.head()?.contains("Expect: 100-continue\r\n") == true else { return }
            peer.send("HTTP/1.1 100 Continue\r\nX: y\r\n\r\n")
            let body = peer.read(3)
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n")
            peer.send(body)
            _ = peer.isAtEnd()
        }
        let client = try upstream.proxy().client()
        client.send(
            "POST /api HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        let first = try require(client.response())
        expect(first.status, equals: 100)
        expect(first.value("X") == nil)
        client.send("abc")
        expect(client.response()?.body, equals: Array("abc".utf8))
    }

    @Test(
        "is told to continue by the proxy when the upstream says nothing, and refused when it refuses"
    )
    func silentAndRefusing() throws {
        var options = ProxyOptions()
        options.continueWait = 1
        let silent = try ScriptedUpstream(afterHead: true) { peer in
            _ = peer.read(3)
            peer.send(Self.empty)
        }
        let client = try silent.proxy(options).client()
        let request =
            "POST /api HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
        expect(client.status(request), equals: 100)
        expect(client.status("abc"), equals: 204)
        let refusing = try ScriptedUpstream(
            answering: "HTTP/1.1 413 No\r\nContent-Length: 0\r\n\r\n")
        let other = try refusing.proxy().client()
        expect(other.status(request), equals: 413)
        expect(other.isAtEnd())
    }
}
