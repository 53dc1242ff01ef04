import StorageTestSupport

@testable import HotPush

/// docs/signing.md, "On the device": what is one place for `castree trust`.
@Suite("The place that trust is about") struct TrustPlaceTests {
    private func places(_ text: String) throws -> [String] {
        try OriginReference(parsing: text).location.trustPlaces
    }

    /// RFC 3986, sections 5.2.4 and 6.2.2; inet_aton(3); RFC 4291, sections 2.2 and 2.5.5.2.
    static let spellings: [(String, [String])] = [
        (
            "http://127.0.0.1:8461/a2",
            [
                "http://127.0.0.1:08461/a2", "http://127.1:8461/a2", "http://0x7f.0.0.1:8461/a2",
                "http://2130706433:8461/a2", "http://0x7F000001:8461/a2",
                "http://017700000001:8461/a2", "http://127.0.1:8461/a2",
                "http://0177.0x0.0.1:8461/a2", "http://127.0.0.1.:8461/a2",
                "http://%3127.0.0.1:8461/a2", "http://[::ffff:127.0.0.1]:8461/a2",
                "http://[::FFFF:7f00:1]:8461/a2", "http://me:word@127.0.0.1:8461/a2",
                "http://127.0.0.1:8461//a2", "http://127.0.0.1:8461/./a2",
                "http://127.0.0.1:8461/x/../a2", "http://127.0.0.1:8461/../a2",
                "http://127.0.0.1:8461/%612", "http://127.0.0.1:8461/a%32",
                "http://127.0.0.1:8461/a2/.", "http://127.0.0.1:8461/a2/x/..",
                "http://127.0.0.1:8461/x/%2e%2E/a2", "http://127.0.0.1:8461/x/.%2e/a2/%2e",
                "http://127.0.0.1:8461/%2fa2", "http://127.0.0.1:8461/x%2F../a2",
                "http://127.0.0.1:8461/a2/./channels/stable.json",
                "http://127.0.0.1:8461/a2//channels/stable.json",
                "HTTP://127.0.0.1:8461/a2/",
            ]
        ),
        (
            "https://example.org/my%20app",
            [
                "https://Example.ORG/my%20app", "https://example.org:443/my%20app",
                "https://example.org:0443/my%20app", "https://example.org:/my%20app",
                "https://example.org:80/my%20app", "https://example.org./my%20app",
                "https://ex%61mple.org/my%20app", "https://example.org/m%79%20app",
            ]
        ),
        ("http://[::1]/a", ["http://[0:0:0:0:0:0:0:1]:80/a", "http://[::0001]/a"]),
        ("http://[fe80::1%25eth0]/a", ["http://[FE80::0:1%eth0]/a"]),
        ("https://h/a%2Cb%c3%bC%zz", ["https://h/a,b%C3%BC%zz", "https://h/a%2cb%C3%bc%25zz"]),
    ]

    @Test func `is one for all spellings of a URL that lead there`() throws {
        for (url, others) in Self.spellings {
            let place = try places(url)
            expect(place.count, equals: 1)
            for other in others {
                try expect(places(other).map(schemeless), equals: place.map(schemeless), "\(other)")
            }
        }
        try expect(places("https://example.org/my%20app"), equals: ["https://example.org/my%20app"])
        try expect(places("http://127.1:08461/a"), equals: ["http://127.0.0.1:8461/a"])
    }

    private func schemeless(_ place: String) -> Substring {
        place[(place.firstRange(of: "://")?.upperBound ?? place.startIndex)...]
    }

    @Test func `is another for another host, port or path`() throws {
        let urls = [
            "http://127.0.0.1/a", "http://127.0.0.2/a", "http://localhost/a",
            "http://127.0.0.1:8080/a", "http://127.0.0.1:8081/a", "http://127.0.0.1/A",
            "http://127.0.0.1/a/b", "http://127.0.0.1/%2561", "http://127.0.0.1", "http://[::1]/a",
            "http://[::2]/a", "http://127.0.0.1.example.org/a", "http://256.0.0.1/a",
            "http://1.2.3.4.5/a", "http://0x/a", "http://[::1::2]/a", "http://[fe80::1%25eth1]/a",
            "http://[fe80::1%25eth0]/a",
        ]
        expect(Set(try urls.map { try places($0) }).count, equals: urls.count)
    }

    @Test
    func `of a directory is all that it is called on the way through links, there or not`() throws {
        let directory = TemporaryDirectory()
        let root = directory.path
        let real = try require(try places(root).last)
        let files = FileManager.default
        for name in ["real", "evil"] {
            try files.createDirectory(atPath: "\(root)/\(name)", withIntermediateDirectories: false)
        }
        for (name, target) in [
            ("o", "evil"), ("absolute", "\(root)/o"), ("up", "real/../o"), ("gone", "missing/x"),
            ("circle", "circle"),
        ] {
            try files.createSymbolicLink(atPath: "\(root)/\(name)", withDestinationPath: target)
        }
        for (path, names) in [
            ("real", ["real"]), ("real/", ["real"]), ("./evil/..//real/.", ["real"]),
            ("missing/origin/", ["missing/origin"]), ("o", ["o", "evil"]),
            ("o/app", ["o/app", "evil/app"]), ("absolute", ["absolute", "o", "evil"]),
            ("up", ["up", "o", "evil"]), ("gone", ["gone", "missing/x"]), ("circle", ["circle"]),
        ] {
            let found = try places("\(root)/\(path)")
            for name in names { expect(found.contains("\(real)/\(name)"), "\(path) \(found)") }
            expect(found.last, equals: "\(real)/\(names.last ?? "")", "\(path) \(found)")
        }
        // A path from here is that path from the root.
        let here = files.currentDirectoryPath
        try expect(places("some/origin/"), equals: places("\(here)/some/origin"))
    }

    @Test func `is trusted by any of its names, and takes none from another origin`() throws {
        let key = try SigningKey.generate().verificationKey
        var trust = StoreTrust()
        try trust.put(TrustedOrigin(places: ["/a", "/b"], id: nil, keys: [key], threshold: 1))
        try trust.put(TrustedOrigin(places: ["/c"], id: nil, keys: [key], threshold: 1))
        expect(trust.origin(at: ["/x", "/b"])?.places, equals: ["/a", "/b"])
        expect(trust.origin(at: ["/x", "/y"]) == nil)
        let first = try require(trust.origin(at: ["/a", "/c"]))
        expect(trust.names(of: ["/a", "/c", "/d"], for: first), equals: ["/d"])
    }
}
