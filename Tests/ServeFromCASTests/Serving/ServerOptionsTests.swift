import StorageTestSupport

@testable import ServeFromCAS

@Suite("Options of a server")
struct ServerOptionsTests {
    static let hosts = [
        "", "*", "*.example", "http://kiosk.example", "kiosk.example/", "kiosk.example/app", "a b",
        "me@kiosk.example", "kiosk.example:", "kiosk.example:0", "kiosk.example:65536", ":8080",
        "kiosk.example:http", "[::1", "::1", "[kiosk]", "[::1]x", "k\u{F6}nig.example", ".",
        "a\r\nb",
    ]

    @Test(arguments: hosts)
    func `that could never do anything are refused: hosts`(_ name: String) throws {
        expectRefusal(.badOption, saying: "kiosk.example:8080") {
            try TestApp(TemporaryStore.app()) { $0.hosts = ["kiosk.example", name] }
        }
    }

    @Test func `that mean something are taken: hosts`() throws {
        let names = ["kiosk.example", "Kiosk.Example:8080", "192.0.2.1", "[fd00::1]:80", "my_host"]
        let app = try TestApp(TemporaryStore.app()) { $0.hosts = names }
        for name in names {
            let answer = try app.browser().ask("GET", "/", navigation + [("Host", name)])
            expect(answer.status, equals: 200, "\(name)")
        }
    }

    @Test(arguments: ["", ".", "..", "/", "/index.html", "a/index.html", "../index.html", "a\nb"])
    func `that could never do anything are refused: the index`(_ name: String) throws {
        expectRefusal(.badOption) { try TestApp(TemporaryStore.app()) { $0.site.index = name } }
    }

    @Test("that would send requests round and round are refused: a route to the server itself")
    func loop() async throws {
        let first = try TestApp(TemporaryStore.app())
        let port = first.port
        await first.stop()
        let error = #expect(throws: StoreError.self) {
            let route = try ProxyRoute("/api=http://localhost:\(port)")
            return try TestApp(TemporaryStore.app()) {
                $0.port = .exactly(port)
                $0.proxies = [route]
            }
        }
        // Another program may have the port by now; then nothing was to be shown.
        expect(error?.code == .badOption || error?.code == .portInUse)
    }

    @Test(
        "that would delete the cookies by which the server knows its pages are refused: Clear-Site-Data",
        arguments: ["\"cookies\"", "\"*\"", "\"cache\", \"cookies\""])
    func clearing(_ value: String) throws {
        var options = SiteOptions()
        for files in ["/logout.html", "/**/bye.html"] {
            expectRefusal(.badField) { try options.add("Clear-Site-Data", value, toFiles: files) }
        }
        #expect(throws: StoreError.self) { try options.add("clear-site-data", value) }
        try options.add("Clear-Site-Data", "\"cache\", \"storage\"")
    }

    @Test(
        "that browsers would drop, with the marks of pages, are refused: Permissions-Policy",
        arguments: [
            "geolocation 'self'; camera 'none'", "camera=(), ", "camera=(self", "Camera=()",
        ])
    func policy(_ value: String) throws {
        var options = SiteOptions()
        expectRefusal(.badField) { try options.add("permissions-policy", value) }
        expectRefusal(.badField) { try options.add("Permissions-Policy", value, toFiles: "/") }
        try options.add("Permissions-Policy", "geolocation=(self \"https://a.example\"), camera=()")
    }
}
