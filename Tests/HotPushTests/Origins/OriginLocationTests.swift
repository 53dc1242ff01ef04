import HotPush
import StorageTestSupport

@Suite("The name of an origin") struct OriginLocationTests {
    static let good: [(String, OriginLocation, String?)] = [
        ("origin", .directory("origin"), nil),
        ("/srv/updates/", .directory("/srv/updates/"), nil),
        ("./a:b", .directory("./a:b"), nil),
        ("/srv/100% new?#", .directory("/srv/100% new?#"), nil),
        ("c:", .directory("c:"), nil),
        ("/srv/app/channels/beta.json", .directory("/srv/app"), "beta"),
        ("channels/beta.json", .directory("channels/beta.json"), nil),
        ("file:/srv/app", .directory("/srv/app"), nil),
        ("file:///srv/my%20app", .directory("/srv/my app"), nil),
        ("FILE://LocalHost/srv/%c3%BC", .directory("/srv/ü"), nil),
        ("file:///srv/app/channels/stable.json", .directory("/srv/app"), "stable"),
        ("http://localhost:8080", .web("http://localhost:8080"), nil),
        ("https://cdn.example/app//", .web("https://cdn.example/app"), nil),
        ("https://cdn.example/channels/beta.json", .web("https://cdn.example"), "beta"),
        ("HTTPS://cdn.example/a%20b", .web("HTTPS://cdn.example/a%20b"), nil),
        ("http://[::1]:80/x", .web("http://[::1]:80/x"), nil),
    ]

    @Test(
        "is a path, a file URL (RFC 8089) or an http URL, perhaps of a channel's pointer",
        arguments: good)
    func parses(_ text: String, _ location: OriginLocation, _ channel: String?) throws {
        let reference = try OriginReference(parsing: text)
        expect(reference.location, equals: location)
        expect(reference.channel?.description, equals: channel)
    }

    @Test(arguments: [
        "", "gs://app/updates", "ftp://host/x", "castree:x", "http:", "http://", "http:///x",
        "https:/x",
        "http://user@", "https://cdn.example/?a=b", "https://cdn.example/#x",
        "https://cdn.example/a b",
        "https://cdn.example/ü", "file:srv", "file://other.host/srv", "file:///srv/%zz",
        "file:///a%00b",
        "file:///%ff", "file:///%f", "a\nb", "http://h\u{7F}",
    ])
    func `is refused where it can mean nothing`(_ text: String) throws {
        expectRefusal(.badOrigin) { try OriginReference(parsing: text) }
    }

    @Test func `shows no password in messages`() throws {
        let location = try OriginReference(parsing: "https://me:secret@cdn.example/app").location
        expect(location.description, equals: "https://***@cdn.example/app")
        expect(
            location.appending("origin.json"),
            equals: "https://me:secret@cdn.example/app/origin.json")
    }

    @Test func `leads to every file by the layout alone`() throws {
        let address = try require(ObjectID(String(repeating: "0a", count: 32)))
        let rest = String(repeating: "0a", count: 31)
        expect(OriginLayout.path(.object, address), equals: "objects/0a/\(rest)")
        expect(OriginLayout.path(.manifest, address), equals: "manifests/0a\(rest).json")
        expect(OriginLayout.pointer(.stable), equals: "channels/stable.json")
        expect(OriginLocation.web("https://h/a").appending("x/y"), equals: "https://h/a/x/y")
        expect(OriginLocation.directory("/").appending("x/y"), equals: "/x/y")
    }

    @Test(
        "has channels with names that every file system and web server keeps apart",
        arguments: [
            ("stable", true), ("ios-3.beta_2", true), ("7", true),
            (String(repeating: "a", count: 64), true),
            ("", false), ("Stable", false), (".hidden", false), ("-x", false), ("a/b", false),
            ("a b", false),
            ("ä", false), ("a\0", false), (String(repeating: "a", count: 65), false), ("..", false),
        ])
    func channelNames(_ text: String, _ isGood: Bool) {
        expect(code { try ChannelName(text) }, equals: (isGood ? nil : .badChannelName))
    }
}
