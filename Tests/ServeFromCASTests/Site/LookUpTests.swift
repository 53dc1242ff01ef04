import WebTestSupport

@testable import ServeFromCAS

@Suite("A site")
struct LookUpTests {
    static let files: [SampleSite.File] = [
        .init("index.html", "index"), .init("app.js", "app"), .init("a b.txt", "space"),
        .init("ä/ö.txt", "umlauts"), .init("100%.txt", "percent"), .init("docs/index.html", "docs"),
        .init("about.html", "about"), .init("%2e%2e.txt", "literal"),
        .init("deep/er/x.json", "{}", routes: ["/x.json?hash=1", "/sp%20ace"]),
        .init("taken.txt", "by path"), .init("other.txt", "by route", routes: ["/taken.txt"]),
        .init("plus+sign.txt", "plus"),
    ]

    static let lookUps: [(target: String, text: String?)] = [
        ("/", "index"), ("/index.html", "index"), ("/app.js", "app"), ("/app.js?v=1", "app"),
        ("/app.js?a=%2E%2F", "app"), ("/?x", "index"), ("/a%20b.txt", "space"),
        ("/%61pp.js", "app"), ("/%61%70%70%2Ejs", "app"), ("/%C3%A4/%c3%b6.txt", "umlauts"),
        ("/100%25.txt", "percent"), ("/%252e%252e.txt", "literal"), ("/x.json", "{}"),
        ("/deep/er/x.json", "{}"), ("/sp%20ace", "{}"), ("/sp%2520ace", "{}"),
        ("/taken.txt", "by route"), ("/plus+sign.txt", "plus"), ("/plus%2Bsign.txt", "plus"),
        ("/docs/", "docs"), ("/docs/index.html", "docs"),
        // Nothing is normalized, and nothing decoded twice.
        ("/App.js", nil), ("/app.js/", nil), ("//app.js", nil), ("/./app.js", nil),
        ("/docs/../app.js", nil), ("/docs/%2e%2e/app.js", nil), ("/%2e%2e/app.js", nil),
        ("/deep%2Fer/x.json", nil), ("/deep%2fer/x.json", nil), ("/%2Fapp.js", nil),
        ("/plus%20sign.txt", nil), ("/a+b.txt", nil), ("/%C0%AE%C0%AE/app.js", nil),
        ("/%FF", nil), ("/app.js%20", nil), ("/deep", nil), ("/deep/", nil), ("/about", nil),
        ("/docs\\index.html", nil), ("/app.js;x", nil), ("/a\u{308}/o\u{308}.txt", nil),
    ]

    @Test("finds the bytes of a path after one decoding, and nothing else", arguments: lookUps)
    func lookUp(_ row: (target: String, text: String?)) throws {
        var options = SiteOptions()
        options.fallback = .none
        let sample = try SampleSite(Self.files, options: options)
        // Browsers escape what is not ASCII; others may not.
        guard let request = try? RequestHead(method: "GET", target: row.target) else {
            // What the parser refuses never gets here.
            expect(row.text == nil)
            return
        }
        let answer = sample.read(Responder.respond(to: request, site: sample.site))
        expect(answer.status, equals: (row.text == nil ? 404 : 200))
        if let text = row.text { expect(answer.text, equals: text) }
    }

    @Test func `leads from a directory with an index to its slash, keeping the query`() throws {
        let sample = try SampleSite(Self.files + [.init("ä b/index.html", "x")])
        let answer = try sample.send("GET", "/docs?a=1")
        expect(answer.status, equals: 301)
        expect(answer["Location"], equals: "/docs/?a=1")
        try expect(sample.send("GET", "/%C3%A4%20b")["Location"], equals: "/%C3%A4%20b/")
        try expect(sample.send("HEAD", "/docs")["Location"], equals: "/docs/")
        var options = SiteOptions()
        options.hasDirectoryIndexes = false
        let without = try SampleSite(Self.files, options: options)
        try expect(without.send("GET", "/docs").status, equals: 404)
        try expect(without.send("GET", "/docs/").status, equals: 404)
        try expect(without.send("GET", "/").text, equals: "index")
    }

    @Test func `shows pages without their ending when asked to`() throws {
        var options = SiteOptions()
        options.hasCleanURLs = true
        let sample = try SampleSite(
            Self.files + [.init("app", "no ending"), .init("app.html", "page")], options: options)
        try expect(sample.send("GET", "/about").text, equals: "about")
        try expect(sample.send("GET", "/about")["Content-Type"], equals: "text/html; charset=utf-8")
        try expect(sample.send("GET", "/app").text, equals: "no ending")
    }

    @Test func `finds each of 20,000 paths, and none that differs in a byte`() throws {
        let files = (0..<20_000).map { SampleSite.File("d\($0 % 7)/file-\($0).txt", "x") }
        let sample = try SampleSite(files)
        for number in 0..<20_000 {
            expect(sample.site.contains("/d\(number % 7)/file-\(number).txt".utf8))
            expect(!sample.site.contains("/d\((number + 1) % 7)/file-\(number).txt".utf8))
        }
        expect(sample.site.table.count, equals: 20_000)
    }

    @Test func `serves what the app brings along, unless the version has it`() throws {
        let sample = try SampleSite(
            [.init("index.html", "index"), .init("a.js", "version's")],
            shell: [.init("a.js", "shell's"), .init("cordova.js", "cordova")])
        try expect(sample.send("GET", "/a.js").text, equals: "version's")
        try expect(sample.send("GET", "/cordova.js").text, equals: "cordova")
    }
}

@Suite("A hashed name")
struct HashedNameTests {
    static let hashed = [
        "/app.3f2a9c1b.js", "/app-3f2a9c1b.js", "/css/style.0badcafe42.css", "/a/3f2a9c1b.png",
        "/57d11a30155349aa5106f8150cee35eac5f4764c.js", "/x.ABCDEF12.js",
        "/57d11a30155349aa5106f8150cee35ea/app.js", "/app_3f2a9c1b.min.js",
    ]
    static let plain = [
        "/app.js", "/", "/report-20240115.pdf", "/app.3f2a9c1.js", "/deadbeef.js", "/facade.js",
        "/3f2a9c1bz.js", "/x3f2a9c1b.js", "/app.3F2a9c1b.js", "/3f2a9c1b/app.js", "/3f2a9c1b",
        "/550e8400-e29b-41d4-a716-446655440000.png", "/550e8400-e29b-41d4-a716-44665544000a.png",
        "/user/3f2a9c1b", "/index-DzX3k2a9.js", "/12345678901234567890.js", "/.3f2a9c1b",
        "/ä3f2a9c1b.js", "/3f2a9c1b.",
    ]

    @Test("has a run of eight hexadecimal digits by itself", arguments: hashed)
    func counts(_ path: String) { expect(HashedName.matches(Array(path.utf8)[...])) }

    @Test("is nothing that may be a word, a date or a record", arguments: plain)
    func countsNot(_ path: String) { expect(!HashedName.matches(Array(path.utf8)[...])) }
}
