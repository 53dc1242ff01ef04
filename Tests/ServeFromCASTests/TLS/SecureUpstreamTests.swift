import StorageTestSupport

@testable import ServeFromCAS

@Suite("A proxy before https")
struct SecureUpstreamTests {
    let files: Certificates

    init() throws { files = try Certificates.shared.get() }

    private func options(trusting authority: String = "ca") -> ProxyOptions {
        var options = ProxyOptions.patient
        options.handshake = 600_000
        options.authorities = files.path("\(authority).pem")
        return options
    }

    private func proxy(
        to upstream: TLSUpstream, host: String = "localhost", _ options: ProxyOptions
    ) throws -> TestServer {
        let table = try ProxyTable(
            [ProxyRoute("/api=https://\(host):\(upstream.port)")], options: options)
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        upstream.servers.append(server)
        return server
    }

    @Test("names the host, asks for http/1.1 by TLS 1.2 or newer, and keeps the connection")
    func hello() throws {
        let upstream = try TLSUpstream()
        let client = try proxy(to: upstream, options()).client()
        for _ in 0..<3 {
            client.send(get("/api/hello"))
            let words = client.response().map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            let parts = words.split(separator: " ")
            try require(parts.count == 4, "\(words)")
            expect(parts[0], equals: "localhost")
            expect(parts[1], equals: "http/1.1")
            expect(["TLSv1.2", "TLSv1.3"].contains(parts[2]))
            expect(parts[3], equals: "1")
        }
    }

    @Test
    func `names no host where the URL has an address, and the certificate must have that`() throws {
        let upstream = try TLSUpstream("good")
        let client = try proxy(to: upstream, host: "127.0.0.1", options()).client()
        client.send(get("/api/hello"))
        let body = try require(client.response()).body
        expect(String(decoding: body, as: UTF8.self).hasPrefix("None http/1.1 "))
    }

    @Test func `gets the same bytes through, a megabyte each way`() throws {
        let upstream = try TLSUpstream()
        let server = try proxy(to: upstream, options())
        let client = try server.client()
        let bytes = try require(server.objects["/large"])
        for _ in 0..<2 {
            client.send(
                "POST /api/echo HTTP/1.1\r\nHost: x\r\nContent-Length: \(bytes.count)\r\n\r\n")
            client.send(bytes)
            let response = try require(client.response())
            expect(response.status, equals: 200)
            expect(response.has(bytes))
        }
    }

    @Test func `takes an answer without length for whole only after an orderly end`() throws {
        let upstream = try TLSUpstream()
        let server = try proxy(to: upstream, options())
        for (path, isWhole) in [("end", true), ("cut", false)] {
            let client = try server.client(sending: get("/api/\(path)", "Connection: close\r\n"))
            let (head, rest) = split(client.readAll())
            expect(head.hasPrefix("HTTP/1.1 200"))
            let body = unchunked(rest)
            expect(body.isWhole, equals: isWhole, "\(path)")
            expect(body.body.count <= 100_000)
        }
        let client = try server.client(sending: get("/api/short"))
        let (head, rest) = split(client.readAll())
        expect(head.contains("Content-Length: 100"))
        expect(rest.count, equals: 50)
    }

    @Test func `gives a changed protocol both ways, until the client ends`() throws {
        let upstream = try TLSUpstream()
        let client = try proxy(to: upstream, options()).client()
        client.send(get("/api/upgrade", "Connection: Upgrade\r\nUpgrade: echo\r\n"))
        expect(client.through("\r\n\r\n"))
        client.send("one\n")
        expect(client.through("one\n"))
        client.send("two\n")
        client.finishSending()
        expect(client.readAll().elementsEqual("two\n".utf8))
    }

    struct Failure: Sendable, CustomTestStringConvertible {
        var certificate = "good"
        var manner = TLSUpstream.Manner.usual
        var host = "localhost"
        var words: String
        var testDescription: String { words }
    }

    @Test(arguments: [
        Failure(certificate: "expired", words: "has expired"),
        Failure(certificate: "elsewhere", words: "is for another host; it does not name localhost"),
        Failure(
            certificate: "name", host: "127.0.0.1",
            words: "is for another host; it does not name 127.0.0.1"),
        Failure(certificate: "self", words: "is self-signed"),
        Failure(certificate: "unknown", words: "signed by nobody that this machine trusts"),
        Failure(manner: .old, words: "speaks no version of TLS that is accepted here"),
        Failure(manner: .plain, words: "does not speak TLS on that port"),
        Failure(manner: .closing, words: "closed the connection during the TLS handshake"),
    ])
    func `answers 502 with the reason when there is no trust`(_ failure: Failure) throws {
        let upstream = try TLSUpstream(failure.certificate, failure.manner)
        let server = try proxy(to: upstream, host: failure.host, options())
        let client = try server.client(sending: get("/api/hello"))
        let response = try require(client.response())
        expect(response.status, equals: 502)
        let text = String(decoding: response.body, as: UTF8.self)
        expect(text.contains(failure.words), "\(text)")
        expect(text.contains("https://\(failure.host):\(upstream.port)"))
        // The client's connection continues.
        expect(client.status(get("/text")), equals: 200)
    }

    @Test func `trusts a self-signed certificate that is named`() throws {
        let upstream = try TLSUpstream("self")
        let client = try proxy(to: upstream, options(trusting: "self")).client()
        expect(client.status(get("/api/hello")), equals: 200)
    }

    @Test func `answers 504 when the handshake does not come to an end in time`() throws {
        let upstream = try TLSUpstream("good", .silent)
        var options = options()
        options.handshake = 50
        let client = try proxy(to: upstream, options).client()
        client.send(get("/api/hello"))
        let response = try require(client.response())
        expect(response.status, equals: 504)
        let text = String(decoding: response.body, as: UTF8.self)
        expect(text.contains("did not complete the TLS handshake in time"))
    }

    @Test(
        "refuses a list of authorities that cannot be used",
        arguments: [("none.pem", "cannot be read"), ("text.pem", "holds no certificate in PEM")])
    func authorities(_ file: String, _ words: String) throws {
        var options = ProxyOptions()
        options.authorities = files.path(file)
        expectRefusal(.badCertificate, saying: words) {
            _ = try ProxyTable([ProxyRoute("/api=https://localhost:1")], options: options)
        }
    }
}
