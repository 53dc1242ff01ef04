import ProgramTestSupport

/// `castree trust`: docs/signing.md, "On the device".
@Suite("castree trust") struct TrustTests {
    private static let id = "00112233445566778899aabbccddeeff"
    private let place = Workplace()
    /// The id of the public key in `keys/a.pub`.
    private let key: String

    init() throws {
        try place.write(
            [
                "secret.pem": "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
                "none.txt": "nothing\n",
            ], to: "keys")
        for name in ["a", "b"] {
            try Self.openssl(
                ["genpkey", "-algorithm", "ed25519", "-out", "\(name).pem"], in: place)
            try Self.openssl(
                ["pkey", "-in", "\(name).pem", "-pubout", "-out", "\(name).pub"], in: place)
        }
        try Self.openssl(
            ["pkey", "-pubin", "-in", "a.pub", "-outform", "DER", "-out", "a.der"], in: place)
        try Self.openssl(["dgst", "-sha256", "-r", "-out", "a.id", "a.der"], in: place)
        key = String(try place.contents("keys/a.id").prefix(16))
    }

    /// OpenSSL's command line: what a publisher without castree may have.
    private static func openssl(_ arguments: [String], in place: Workplace) throws {
        let done = try OtherProgram(["openssl"] + arguments, in: place.path("keys"))
        try require(done.status == 0, "openssl \(arguments)")
    }

    private func trusted() throws -> JSON {
        try place.device("trust", "list", "--json").document(.trusted).origins
    }

    @Test func `adds keys, lists them, and takes them out again`() throws {
        let url = "https://Example.org:443/app/"
        let added = try place.device("trust", "add", "keys/a.pub", "--origin", url)
        expect(added.status == 0 && added.text.contains(key), "\(added)")
        try expect(trusted().map(\.places), equals: [["https://example.org/app"]])
        try expect(trusted()[0].origin.isNull)
        try place.device(
            "trust", "add", "keys/b.pub", "--threshold", "2", "--origin", "https://example.org/app",
            "--origin-id", Self.id
        ).ended()
        try expect(trusted()[0].keys.count == 2 && trusted()[0].threshold == 2)
        try expect(trusted()[0].origin, equals: Self.id)
        // What the threshold asks for cannot go.
        try place.device("trust", "remove", Self.id, key).ended(1, saying: "--threshold")
        try expect(
            place.device(
                "trust", "add", "keys/a.pub", "--threshold", "1", "--origin",
                "https://example.org/app"
            ).status, equals: 0)
        try expect(place.device("trust", "remove", Self.id, key).status, equals: 0)
        try expect(trusted()[0].keys.count, equals: 1)
        let gone = try place.device("trust", "remove", "http://example.org/app")
        expect(gone.status == 0 && gone.text.contains("accepted unsigned"), "\(gone)")
        try expect(trusted().isEmpty)
        try expect(place.device("trust", "list").text.contains("castree trust add"))
        let log = try place.device("log").text
        expect(log.contains("of these keys: ") && log.contains("accepts unsigned releases"))
    }

    @Test("takes all keys of a version for those of it, and never of an older one than was seen")
    func versions() throws {
        func add(_ key: String, _ version: String) throws -> Finished {
            try place.device(
                "trust", "add", "keys/\(key).pub", "--origin", "https://example.org/app",
                "--trust-version", version)
        }
        try expect(add("b", "3").status, equals: 0)
        try add("a", "2").ended(1, saying: "nothing goes back")
        try expect(add("a", "4").status, equals: 0)
        let origin = try place.device("trust", "list", "--json").document(.trusted).origins[0]
        expect(origin.trustVersion == 4 && origin.keys == [key])
        try expect(add("a", "0").status, equals: 2)
    }

    @Test("says what to do about a wrong file, a wrong URL and a wrong id, and makes no store")
    func refusals() throws {
        let url = "https://example.org/app"
        for (arguments, status, words) in [
            (["keys/secret.pem", "--origin", url], 1, "castree key show"),
            (["keys/none.txt", "--origin", url], 1, "BEGIN PUBLIC KEY"),
            (["keys/missing.pub", "--origin", url], 1, "keys/missing.pub"),
            (["keys/a.pub", "--origin", "ftp://example.org"], 1, "scheme"),
            (["keys/a.pub", "--origin", url + "/channels/stable.json"], 2, "whole origin"),
            (["keys/a.pub", "--origin", url, "--origin-id", "app"], 2, "32 hexadecimal"),
            (["keys/a.pub"], 2, "--origin URL"),
        ] {
            try place.ended(
                Int32(status), words: ["--store", "device", "trust", "add"] + arguments,
                saying: words)
            expect(!place.exists("device"))
        }
        // A threshold that cannot be reached.
        try place.device("trust", "add", "keys/a.pub", "--threshold", "2", "--origin", url)
            .ended(1, saying: "ask for 1")
        try expect(place.device("trust", "add", "keys/a.pub", "--origin", url).status, equals: 0)
        for (arguments, status) in [
            (["https://example.org/other"], 3), ([url, "0123456789abcdef"], 3),
            ([url, key], 1),
        ] {
            try place.ended(
                Int32(status), words: ["--store", "device", "trust", "remove"] + arguments)
        }
        try place.device(
            "trust", "add", "keys/a.pub", "--origin", url, "--origin-id", Self.id
        ).ended()
        let another = String(Self.id.reversed())
        try place.device(
            "trust", "add", "keys/a.pub", "--origin", url, "--origin-id", another
        ).ended(1, saying: "trust remove")
    }

    @Test func `lets a pull take what is signed, and ends it with 22 for all else`() throws {
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try place.done("publish", "1", "site", "--no-sync", "--no-packs")
        // Nobody has signed it yet.
        let web = try place.origin()
        try expect(
            place.device("trust", "add", "keys/a.pub", "--origin", web.url).status, equals: 0)
        try expect(
            place.device("pull", web.url, "--json").ended(22).error().code, equals: "untrusted")
        // No other try mends that, so it is said at once, and no longer than it is so.
        let status = try place.device("status", "--json").document(.status)
        expect(status.problems.map(\.code), equals: ["untrusted"], "\(status.problems)")
        try expect(place.device("pull", web.url, "--force").status, equals: 22)
        try expect(place.device("pull", web.url, "--format", "meteor").status, equals: 22)
        try sign()
        try place.device("pull", web.url, "--activate").ended(saying: Self.id)
        try expect(place.device("status").status, equals: 0)
        try expect(
            place.device("pull", web.url, "--json").document(.signatures).signedBy, equals: [key])
        try expect(!trusted()[0].sequences.stable.isNull)
        try expect(place.device("trust", "list").text.contains("channel stable: verified up to"))
        try place.device("trust", "lower", web.url, "stabel").ended(
            3, saying: "nothing of channel stabel")
        try expect(!trusted()[0].sequences.stable.isNull)
        // The report names keys, which are public.
        try expect(place.device("report").text.contains(key))
        // A damaged file is no reason to take what comes.
        try Data("{}".utf8).write(to: place.directory.appending(path: "device/trust.json"))
        for arguments in [["--force"], []] {
            try place.ended(
                22, "--store", "device", "pull", web.url, words: arguments, saying: "trust add")
        }
        try expect(place.device("fsck", "--repair").status, equals: 4)
        try expect(place.contents("device/trust.json"), equals: "{}")
    }

    @Test
    func `holds whatever comes to stand at the path of a trusted directory to its keys`() throws {
        try place.add("1", Release.first)
        for name in ["o", "evil"] {
            try place.done("publish", "1", name, "--no-sync", "--no-packs")
        }
        let files = FileManager.default
        let origin = place.directory.appending(path: "o")
        let moved = place.directory.appending(path: "old")
        for path in ["o", origin.path + "/"] {
            for isThere in [true, false] {
                if !isThere { try files.moveItem(at: origin, to: moved) }
                let added = try place.device("trust", "add", "keys/a.pub", "--origin", path)
                expect(added.status == 0 && added.text.contains(origin.path), "\(added)")
                if isThere { try files.moveItem(at: origin, to: moved) }
                try files.createSymbolicLink(atPath: origin.path, withDestinationPath: "evil")
                for spelling in ["o", origin.path, "./evil/../o/"] {
                    try place.device("pull", spelling, "--json").ended(22)
                }
                try files.removeItem(at: origin)
                try files.moveItem(at: moved, to: origin)
                try expect(place.device("pull", "o").status, equals: 22)
                try expect(place.device("trust", "remove", origin.path).status, equals: 0)
                try expect(trusted().isEmpty)
            }
        }
    }

    @Test(
        "lets a kiosk continue with what it shows while nobody signs what its origin offers",
        .timeLimit(.minutes(60)))
    func kiosk() throws {
        try place.add("1", Release.first)
        try place.add("2", Release.second)
        try expect(
            place.device("add", "release-1", "--version", "1", "--no-sync", "--activate").status,
            equals: 0)
        try place.done("publish", "2", "site", "--no-sync", "--no-packs")
        let web = try place.origin()
        try expect(
            place.device("trust", "add", "keys/a.pub", "--origin", web.url).status, equals: 0)
        let kiosk = try Kiosk(place, web.url)
        try kiosk.hear("unable to update", "it is not signed")
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try sign()
        try expect(kiosk.page().post("update").status, equals: 202)
        try kiosk.hear("version 2 is downloaded")
        try expect(kiosk.served.end().status, equals: 0)
    }

    /// Signs the pointer with OpenSSL, by docs/origin-format.md.
    private func sign() throws {
        let file = place.directory.appending(path: "site/channels/stable.json")
        let read = try JSONSerialization.jsonObject(with: Data(contentsOf: file))
        var pointer = try require(read as? [String: Any])
        pointer["origin"] = Self.id
        try (Data("castree-pointer 1\n".utf8) + Self.canonical(pointer)).write(
            to: place.directory.appending(path: "keys/signed"))
        try Self.openssl(
            [
                "pkeyutl", "-sign", "-rawin", "-inkey", "a.pem", "-in", "signed", "-out",
                "signature",
            ],
            in: place)
        let signature = try Data(contentsOf: place.directory.appending(path: "keys/signature"))
        pointer["signatures"] = [["key": key, "signature": signature.base64EncodedString()]]
        try (Self.canonical(pointer) + Data("\n".utf8)).write(to: file)
    }

    /// RFC 8785, for names and texts in ASCII and whole numbers.
    private static func canonical(_ object: [String: Any]) throws -> Data {
        try JSONSerialization.data(
            withJSONObject: object, options: [.sortedKeys, .withoutEscapingSlashes])
    }
}
