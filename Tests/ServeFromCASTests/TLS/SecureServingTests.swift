import StorageTestSupport

@testable import ServeFromCAS

@Suite("A server with a certificate")
struct SecureServingTests {
    let files: Certificates

    init() throws { files = try Certificates.shared.get() }

    private func server(
        _ change: @escaping (inout HTTPServer.Options) -> Void = { _ in }
    ) throws -> TestServer {
        let tls = try TLSContext.server(files.pair("good"))
        return try TestServer({ options in
            options.tls = tls
            change(&options)
        })
    }

    @Test func `gives every object whole, chooses http/1.1, and ends in order`() throws {
        let server = try server()
        let lines = try TLSClient.run(
            server.port,
            """
            c = connect()
            print(c.selected_alpn_protocol(), c.version() in ("TLSv1.2", "TLSv1.3"))
            for path in ("/small", "/large", "/huge", "/small"):
                print(path, sha(fetch(c, path)[1]))
            print(fetch(c, "/text", "Connection: close")[1].decode(), c.recv(1))
            """)
        expect(lines.first, equals: "http/1.1 True")
        for name in ["/small", "/large", "/huge"] {
            expect(lines.contains("\(name) \(server.ids[name]?.description ?? "")"))
        }
        expect(lines.last, equals: "text b''")
        expect(server.damageSink.all.isEmpty)
    }

    @Test func `gives a slow reader with a small window the same bytes`() throws {
        let server = try server()
        let lines = try TLSClient.run(
            server.port,
            """
            c = connect(buffer=4096)
            print(sha(fetch(c, "/large", size=5000)[1]))
            print(sha(fetch(c, "/small")[1]))
            """)
        expect(lines, equals: ["/large", "/small"].map { server.ids[$0]?.description ?? "" })
    }

    @Test func `answers requests that come together, in order, and takes bodies`() throws {
        let server = try server()
        let lines = try TLSClient.run(
            server.port,
            """
            c = connect()
            paths = ["/small", "/text", "/large", "/none"] * 5
            c.sendall(b"".join(ask(path) for path in paths))
            for path in paths:
                head, body = read(c)
                print(head.split()[1], len(body))
            body = bytes(range(256)) * 300
            c.sendall(b"POST /echo HTTP/1.1\\r\\nHost: x\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(body) + body)
            print(read(c)[1] == body)
            """)
        let round = ["200 1024", "200 4", "200 1048576", "404 0"]
        let expected: [String] = Array(repeating: round, count: 5).flatMap { $0 }
        expect(lines, equals: expected + ["True"])
    }

    @Test func `serves many at once`() throws {
        let server = try server()
        let lines = try TLSClient.run(
            server.port,
            """
            hashes = []
            def work():
                c = connect()
                for _ in range(3):
                    hashes.append(sha(fetch(c, "/large")[1]))
            threads = [threading.Thread(target=work) for _ in range(16)]
            for t in threads: t.start()
            for t in threads: t.join()
            print(len(hashes), *set(hashes))
            """)
        expect(lines, equals: ["48 \(server.ids["/large"]?.description ?? "")"])
    }

    @Test(arguments: ["old=True", "protocols=('h2',)"])
    func `refuses who cannot speak as it does`(_ manner: String) throws {
        let server = try server()
        let lines = try TLSClient.run(
            server.port,
            """
            try:
                connect(\(manner))
                print("connected")
            except OSError:
                print("refused")
            print(fetch(connect(), "/text")[1].decode())
            """)
        expect(lines, equals: ["refused", "text"])
    }

    @Test func `tells a client without TLS what is wrong, and closes`() throws {
        let server = try server()
        let client = try server.client(sending: get("/text"))
        let response = try require(client.response())
        expect(response.status, equals: 400)
        expect(String(decoding: response.body, as: UTF8.self).contains("https only"))
        expect(client.isAtEnd())
        expect(server.logSink.all.isEmpty)
    }

    @Test
    func `closes on bytes that are no handshake, and on none at all after the deadline`() throws {
        let server = try server { $0.connection.headDeadline = 50 }
        let client = try server.client()
        client.send([UInt8](repeating: 0x55, count: 300))
        _ = client.readAll()
        try expect(server.client().readAll().isEmpty)
    }

    @Test
    func `cuts an answer whose file became shorter, so that nobody takes it for whole`() throws {
        let server = try server()
        let file = server.file("/huge")
        let lines = try TLSClient.run(
            server.port,
            """
            import os
            c = connect(buffer=4096)
            c.sendall(ask("/huge"))
            c.recv(1)
            os.chmod("\(file)", 0o644)
            os.truncate("\(file)", 1000)
            try:
                while c.recv(65536): pass
                print("ended")
            except OSError:
                print("cut")
            """)
        expect(lines, equals: ["cut"])
        expect(server.damageSink.all.count, equals: 1)
    }

    @Test func `of an app has https addresses and cookies that are for https alone`() throws {
        let pair = files.pair("good")
        let app = try TestApp(.app()) {
            $0.certificate = pair
            $0.requiresToken = true
        }
        expect(app.server.url.hasPrefix("https://localhost:\(app.port)/?castree_token_"))
        let target = app.server.url.dropFirst("https://localhost:\(app.port)".count)
        let lines = try TLSClient.run(
            app.port,
            """
            c = connect()
            head, body = fetch(c, "\(target)", "Accept: text/html", "Sec-Fetch-Mode: navigate")
            print(head.split()[1])
            cookies = [f[12:] for f in head.split("\\r\\n") if f.startswith("Set-Cookie: ")]
            print(len(cookies), all(f.endswith("; Secure") for f in cookies))
            given = "Cookie: " + "; ".join(f.split(";")[0] for f in cookies)
            head, _ = fetch(c, "/_castree/bridge", given, "Origin: https://localhost:%d" % port,
                "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
            print(head.split()[1])
            """)
        expect(lines, equals: ["200", "2 True", "101"])
    }

    @Test func `tells upstreams that the client came by https`() throws {
        let upstream = try ScriptedUpstream(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let (pair, port) = (files.pair("good"), upstream.port)
        let app = try TestApp(.app()) {
            $0.certificate = pair
            // The text is a route's.
            if let route = try? ProxyRoute("/api=http://127.0.0.1:\(port)") { $0.proxies = [route] }
        }
        _ = try TLSClient.run(app.port, "fetch(connect(), '/api/x')")
        expect(upstream.heads.all.first?.contains("X-Forwarded-Proto: https\r\n"), equals: true)
    }

    @Test func `calls itself by the first of its names that the certificate has`() throws {
        let pair = files.pair("elsewhere")
        let app = try TestApp(.app()) {
            $0.certificate = pair
            $0.hosts = ["other.example", "elsewhere.example"]
        }
        expect(app.server.url, equals: "https://elsewhere.example:\(app.port)/")
    }

    @Test func `says when its certificate has expired`() throws {
        let pair = files.pair("expired")
        let app = try TestApp(.app()) { $0.certificate = pair }
        expect(app.notices.all.contains { $0.contains("has expired") })
    }

    @Test(
        "is refused a pair that cannot be used, with the reason",
        arguments: [
            ("none.pem", "good.key", "the certificate", "cannot be read"),
            ("good.pem", "none.key", "the key", "cannot be read"),
            ("text.pem", "good.key", "text.pem", "holds no certificate in PEM"),
            ("good.key", "good.key", "good.key", "holds no certificate in PEM"),
            ("good.pem", "good.pem", "good.pem", "holds no private key in PEM"),
            ("good.pem", "name.key", "name.key", "does not belong to the certificate"),
            ("good.pem", "encrypted.key", "encrypted.key", "is encrypted"),
        ])
    func pairs(_ chain: String, _ key: String, _ what: String, _ words: String) throws {
        let pair = ServerCertificate(certificateFile: files.path(chain), keyFile: files.path(key))
        let error = expectRefusal(.badCertificate) { try TestApp(.app()) { $0.certificate = pair } }
        let message = error?.message ?? ""
        expect(message.contains(what) && message.contains(words), "\(message)")
    }
}

extension Certificates {
    func pair(_ name: String) -> ServerCertificate {
        ServerCertificate(certificateFile: path("\(name).pem"), keyFile: path("\(name).key"))
    }
}
