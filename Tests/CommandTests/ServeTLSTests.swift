import ProgramTestSupport

@Suite struct ServeTLSTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("activate", "1")
        try Self.makeCertificate("cert", in: place)
        try Self.makeCertificate("other", in: place)
    }

    static func makeCertificate(_ name: String, in place: Workplace) throws {
        let made = try OtherProgram(
            [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30", "-keyout", "\(name).key",
                "-out", "\(name).pem", "-subj", "/CN=localhost", "-addext",
                "subjectAltName=DNS:localhost",
            ], in: place.directory.path)
        try require(made.status == 0, "openssl is needed for this test")
    }

    @Test("the ready line has an https address, and one server reads another through it")
    func httpsAddress() throws {
        let secure = try Served(place, ["--certificate", "cert.pem", "--key", "cert.key"])
        let marker = "Serving version 1 at https://localhost:"
        expect(secure.ready.hasPrefix(marker))
        let port = secure.ready.dropFirst(marker.count).prefix { $0.isNumber }
        let before = try Served(
            place, ["--proxy", "/api=https://localhost:\(port)/", "--proxy-ca", "cert.pem"])
        try expect(before.get("/api/css/site.css", [:]).body, equals: Release.first["css/site.css"])
        let route = ["--proxy", "/api=https://localhost:\(port)/"]
        let bySystem = try Served(place, route, environment: ["SSL_CERT_FILE": "cert.pem"])
        try expect(bySystem.get("/api/index.html", [:]).body, equals: Release.first["index.html"])
        let doubting = try Served(place, route, environment: ["SSL_CERT_FILE": "other.pem"])
        let refusal = try doubting.get("/api/css/site.css", [:])
        expect(refusal.status, equals: 502)
        expect(refusal.body.contains("is self-signed"))
    }

    // certbot's live/, /etc/ssl/certs, a mounted Kubernetes secret; a container's log.
    @Test func `files that a user names may be symbolic links, and the log an open file`() throws {
        for name in ["cert.pem", "cert.key"] {
            let link = place.directory.appending(path: "live/\(name)").path
            mkdir(place.directory.appending(path: "live").path, 0o755)
            expect(symlink("../\(name)", link), equals: 0)
        }
        for log in ["/dev/stdout", "/dev/stderr", "/proc/self/fd/1"] {
            let served = try Served(
                place,
                [
                    "--certificate", "live/cert.pem", "--key", "live/cert.key", "--access-log", log,
                    "--proxy", "/api=https://localhost:1", "--proxy-ca", "live/cert.pem",
                ])
            expect(served.ready.hasPrefix("Serving version 1"), "\(log)")
            try expect(served.end().status, equals: 0)
        }
    }

    @Test(arguments: [
        (["--certificate", "cert.pem"], 2, "--key FILE"),
        (["--key", "cert.key"], 2, "--certificate FILE"),
        (["--certificate", "cert.pem", "--key", "none.pem"], 1, "none.pem cannot be read"),
        (["--certificate", "cert.key", "--key", "cert.key"], 1, "cert.key holds no certificate"),
        (
            ["--proxy", "/a=https://u", "--proxy-ca", "cert.key"], 1,
            "cert.key holds no certificate"
        ),
    ])
    func `what cannot be used ends the command with the reason`(
        _ options: [String], _ status: Int32, _ words: String
    ) throws {
        let served = try Served(place, options)
        expect(served.ready.isEmpty)
        try served.finished().ended(status, saying: words)
    }
}
