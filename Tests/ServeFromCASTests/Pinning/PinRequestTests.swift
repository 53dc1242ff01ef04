import WebTestSupport

@testable import ServeFromCAS

@Suite("What pins read of a request")
struct PinRequestTests {
    let seal = PageSeal(key: "0123456789abcdef0123456789abcdef")

    func read(_ fields: [(String, String)], target: String = "/a.js") throws -> PinRequest {
        let request = try RequestHead(
            method: "GET", target: target, fields: [("Host", "localhost:1234")] + fields)
        return PinRequest(request, cookieName: "castree_page_1234", seal: seal, connection: 7)
    }

    static let referrers: [(value: String, path: String?)] = [
        ("http://localhost:1234/", "/"), ("http://localhost:1234", "/"),
        ("http://localhost:1234/a/b?c#d", "/a/b"), ("HTTP://LOCALHOST:1234/x", "/x"),
        ("http://localhost:1235/x", nil), ("http://evil.example/localhost:1234/", nil),
        ("http://localhost:1234.evil.example/", nil), ("/x", nil), ("", nil), ("about:blank", nil),
    ]

    @Test("is the path of a Referer of the same origin", arguments: referrers)
    func referrer(_ row: (value: String, path: String?)) throws {
        try expect(read([("Referer", row.value)]).referrer, equals: row.path.map { Array($0.utf8) })
    }

    @Test(
        "is the version of a shared worker in its script's address, or in the Referer of what it asks for"
    )
    func shared() throws {
        let version = try VersionName("2.0+b")
        for query in [
            "castree_version=2.0+b", "a=b&castree_version=2.0+b",
            "castree_version=1&castree_version=2.0+b",
        ] {
            try expect(read([], target: "/w.js?" + query).shared, equals: version)
            let referrer = "http://localhost:1234/w.js?" + query
            try expect(read([("Referer", referrer)], target: "/a.json").shared, equals: version)
            // Of a page, of another server, or of a navigation it says nothing.
            for page in [
                "http://localhost:1234/?", "http://localhost:1234/p.html?", "http://other:1/w.js?",
            ] {
                try expect(read([("Referer", page + query)], target: "/a.json").shared == nil)
            }
            try expect(
                read([("Sec-Fetch-Mode", "navigate")], target: "/w.js?" + query).shared == nil)
        }
        for query in [
            "", "castree_version=", "castree_version=/x", "version=1", "castree_version=1&a=b",
        ] {
            try expect(read([], target: "/w.js?" + query).shared == nil, "\(query)")
        }
    }

    @Test func `is a cookie only if it is one of ours`() throws {
        let cookie = PinCookie(
            browser: "0123456789abcdef", version: try VersionName("1.38.0-beta.2"))
        let set = cookie.setCookie("castree_page_1234", seal)
        let value = String(set.prefix { $0 != ";" })
        try expect(read([("Cookie", "a=b; \(value)")]).cookie, equals: cookie)
        // A link from another site must find the browser's cookie: a browser that seemed new would get
        // one of its own in its place, and the pages that are open would lose theirs
        // (RFC 6265bis, section 5.6.7.1: Strict cookies are not sent there, Lax ones are).
        expect(
            set.split(separator: ";").map { $0.drop { $0 == " " } }.dropFirst(),
            equals: ["Path=/", "HttpOnly", "SameSite=Lax"])
        for value in [
            "short.1", "0123456789abcdef", "0123456789abcdef.", "0123456789abcdef./x", "",
            "0123456789abcdef.1:", "0123456789abcdef.1:r un", "0123456789abcdef.1:run:",
            "0123456789abcdef.1:run:/x", "0123456789abcdef.:run",
            "0123456789abcdef.1:run" + String(repeating: ":v", count: 9), "0123456789abcdef-.1",
            "0123456789abcdef-l.1", "0123456789abcdef-l0.1", "0123456789abcdef-l61.1",
            "0123456789abcdef-lw.1", "0123456789abcdef-l5w.1",
        ] {
            try expect(read([("Cookie", "castree_page_1234=\(seal.sealed(value))")]).cookie == nil)
        }
    }

    @Test func `is no cookie unless a server of the store has sealed all of it`() throws {
        let content = "0123456789abcdef.1.0:run:2.0"
        let value = seal.sealed(content)
        func cookie(_ value: String) throws -> PinCookie? {
            try read([("Cookie", "castree_page_1234=\(value)")]).cookie
        }
        try expect(cookie(value)?.version.description, equals: "1.0")
        // As an older castree set it, as somebody makes it up, and as another store's server seals it.
        let zeroes = String(repeating: "0", count: 32)
        for forged in [
            content, "." + content, "0." + content, zeroes + "." + content,
            zeroes + ".0." + content, PageSeal(key: zeroes).sealed(content),
            PageSeal(key: "").sealed(content), String(value.dropFirst(32)),
        ] { try expect(cookie(forged) == nil, "\(forged)") }
        for index in value.indices {
            for byte in "0af.:-Z" where value[index] != byte {
                let changed = value[..<index] + String(byte) + value[value.index(after: index)...]
                try expect(cookie(String(changed)) == nil, "\(changed)")
            }
            try expect(cookie(String(value[..<index])) == nil)
        }
    }

    @Test("is a cookie with the run of the server that set it, and the versions of other pages")
    func cookieOfSeveral() throws {
        for others in [[], ["1.0"], ["1.0", "2.0-beta~1", "3+4@5"]] {
            let cookie = PinCookie(
                browser: "0123456789abcdef", version: try VersionName("2.0"), run: "k3j5",
                others: try others.map { try VersionName($0) })
            let value = String(cookie.setCookie("castree_page_1234", seal).prefix { $0 != ";" })
            try expect(read([("Cookie", value)]).cookie, equals: cookie)
            try expect(read([("Cookie", value)]).contentTag == nil)
            let tagged = String(
                cookie.setCookie("castree_page_1234", seal, tag: "0123abcd").prefix { $0 != ";" })
            try expect(read([("Cookie", tagged)]).cookie, equals: cookie)
            try expect(read([("Cookie", tagged)]).contentTag, equals: "0123abcd")
        }
    }

    @Test func `is a cookie that knows how long another origin may be behind its pages`() throws {
        for (age, rest) in [(0, 29), (1, 28), (29, 0), (30, 0), (1_000_000, 0), (-5, 29)] {
            // A second passes at most: half a minute keeps away from the full ones.
            let then = secondsNow() - Int64(age) * 60 - 30
            let value = seal.sealed("0123456789abcdef-1wl30.1:run:2", at: then)
            let cookie = try require(read([("Cookie", "castree_page_1234=\(value)")]).cookie)
            expect(cookie.ledMinutes == rest && cookie.isLasting, "\(age): \(cookie)")
        }
    }

    @Test func `is nothing for a request that is of no page`() throws {
        for (fields, isOfPage) in [
            ([], false), ([("Accept", "*/*"), ("User-Agent", "curl")], false), (navigation, true),
            ([("Cookie", "a=b")], true), ([("Referer", "http://localhost:1234/")], true),
            ([("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Dest", "script")], true),
        ] {
            let request = try RequestHead(method: "GET", target: "/", fields: fields)
            expect(PinRequest.isOfPage(request), equals: isOfPage)
        }
    }

    static let senders: [(fields: [(String, String)], sender: PinRequest.Sender)] = [
        ([], .unsaid), ([("Referer", "")], .unsaid),
        ([("Referer", "http://localhost:1234/x")], .page),
        ([("Referer", "http://localhost:1234/x"), ("Sec-Fetch-Site", "cross-site")], .page),
        ([("Sec-Fetch-Site", "same-origin")], .page), ([("Sec-Fetch-Site", "none")], .nobody),
        ([("Referer", "http://localhost:1235/x"), ("Sec-Fetch-Site", "same-site")], .stranger),
        ([("Referer", "https://example.org/")], .stranger),
        ([("Sec-Fetch-Site", "same-site")], .stranger),
        ([("Sec-Fetch-Site", "cross-site")], .nameless),
        (frameLoad + [("Sec-Fetch-Site", "cross-site")], .nameless),
        (frameLoad + Self.inTab(of: "none"), .stranger),
        (frameLoad + Self.inTab(of: "inactive"), .nameless),
        (scriptLoad + Self.inTab(of: "none"), .nameless),
    ]

    private static func inTab(of storage: String) -> [(String, String)] {
        [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Storage-Access", storage)]
    }

    @Test("is who sends it, as far as the browser says", arguments: senders)
    func sender(_ row: (fields: [(String, String)], sender: PinRequest.Sender)) throws {
        try expect(read(row.fields).sender, equals: row.sender)
    }

    /// Where a navigation leads, in a site with the fallback for navigations.
    static let ends: [(path: String, isPage: Bool)] = [
        ("/", true), ("/index.html", true), ("/route", true), ("/a.xhtml", true), ("/a.svg", true),
        ("/a.xml", true), ("/report.zip", false), ("/a.pdf", false), ("/a.png", false),
        ("/a.txt", false), ("/a.json", false), ("/a.mp4", false), ("/a.unknown", false),
        ("/docs", false), ("/docs/", true), ("/missing.js", false),
        ("/saved/a.html", false),
    ]

    @Test("is whether a navigation leads to a document that may ask for more", arguments: ends)
    func leading(_ row: (path: String, isPage: Bool)) throws {
        var options = SiteOptions()
        try options.add("Content-Disposition", "attachment", toFiles: "/saved")
        let names = ["index", "docs/index", "saved/a"].map { $0 + ".html" }
        let others = ["xhtml", "svg", "xml", "pdf", "png", "txt", "json", "mp4", "unknown"].map {
            "a." + $0
        }
        let site = try SampleSite(
            (names + others + ["report.zip"]).map { SampleSite.File($0, $0) }, options: options
        ).site
        let head = try RequestHead(
            method: "GET", target: row.path, fields: [("Accept", "text/html")])
        expect(Responder(site: site).leadsToPage(head), equals: row.isPage, "\(row.path)")
    }

    static let loads: [(fields: [(String, String)], load: RequestHead.Load, isReload: Bool)] = [
        (navigation, .page, false), (navigation + [("Cache-Control", "max-age=0")], .page, true),
        (navigation + [("Cache-Control", "no-cache")], .page, true),
        (scriptLoad, .subresource, false),
        ([("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")], .frame, false),
        ([("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "object")], .frame, false),
        ([("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "embed")], .subresource, false),
        ([("Sec-Fetch-Mode", "same-origin"), ("Sec-Fetch-Dest", "worker")], .subresource, false),
        (navigation + [("Sec-Purpose", "prefetch")], .frame, false),
        (navigation + [("Sec-Purpose", "prefetch;prerender")], .frame, false),
        ([("Accept", "text/html")], .page, false), ([("Accept", "*/*")], .subresource, false),
    ]

    @Test("is the kind of load", arguments: loads)
    func load(_ row: (fields: [(String, String)], load: RequestHead.Load, isReload: Bool)) throws {
        let request = try read(row.fields)
        expect(request.load, equals: row.load)
        expect(request.isReload, equals: row.isReload)
    }
}
