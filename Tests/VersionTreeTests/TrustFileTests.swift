import StorageTestSupport

@testable import VersionTree

/// trust.json of a store (DESIGN.md, "trust.json"): damaged, it is refused, and nothing makes it up.
@Suite("The file of whose releases are taken") struct TrustFileTests {
    private let temporary: TemporaryStore
    private let key: VerificationKey
    private var path: String { temporary.path + "/trust.json" }

    init() throws {
        temporary = try TemporaryStore()
        key = try SigningKey.generate().verificationKey
    }

    private func origin(
        _ places: [String], id: String? = "00112233445566778899aabbccddeeff"
    ) -> TrustedOrigin {
        var origin = TrustedOrigin(places: places, id: id, keys: [key], threshold: 1)
        origin.sequences = ["stable": 7, "beta": (1 << 53) - 1]
        origin.latest = 1_760_000_000
        origin.version = 3
        origin.appKeys = "the app's"
        return origin
    }

    private func put(_ origins: TrustedOrigin...) throws {
        try temporary.versions.changeTrust { (trust) throws(StoreError) in
            for origin in origins {
                try trust.put(origin, insteadOf: origin.id.flatMap { trust.origin($0) })
            }
        }
    }

    @Test func `says what was put into it, and only its owner may read it`() throws {
        try expect(temporary.versions.trust(), equals: StoreTrust())
        let origins = [
            origin(["https://example.org/app", "s3://bucket/app"]),
            TrustedOrigin(places: ["/srv/origin"], id: nil, keys: [key], threshold: 1),
        ]
        try put(origins[0], origins[1])
        try expect(temporary.reopened().trust().origins, equals: origins)
        try expect(Damage.mode(path), equals: 0o600)
        // What changes nothing writes nothing.
        let before = try status(path)
        try put(origins[0])
        try expect(status(path), equals: before)
    }

    @Test func `knows an origin by its places, whatever the scheme, and by its id`() throws {
        try put(origin(["https://example.org/app"]))
        let trust = try temporary.versions.trust()
        for place in ["https://example.org/app", "http://example.org/app"] {
            expect(trust.origin(at: place) != nil)
        }
        for place in ["https://example.org/ap", "https://example.org", "s3://example.org/app"] {
            expect(trust.origin(at: place) == nil)
        }
        let id: String? = "00112233445566778899aabbccddeeff"
        expect(trust.origin(id) != nil && trust.origin(nil as String?) == nil)
    }

    @Test func `has each place once: the last that is named there counts`() throws {
        try put(origin(["https://a.example", "https://b.example"]))
        try put(TrustedOrigin(places: ["https://c.example"], id: nil, keys: [key], threshold: 1))
        let other = origin(["http://b.example"], id: "ffeeddccbbaa99887766554433221100")
        try put(other)
        try expect(
            temporary.versions.trust().origins.map(\.places),
            equals: [["https://a.example"], ["https://c.example"], ["http://b.example"]])
        // One that nobody could find any more goes.
        try put(origin(["https://a.example", "https://c.example"]))
        try expect(temporary.reopened().trust().origins.count, equals: 2)
    }

    @Test func `never has one origin twice, nor one instead of another`() throws {
        let id = "00112233445566778899aabbccddeeff"
        try put(origin(["https://a.example"]))
        try put(TrustedOrigin(places: ["https://b.example"], id: nil, keys: [key], threshold: 1))
        let before = try readBytes(path)
        expectRefusal(.untrusted) {
            try temporary.versions.changeTrust { (trust) throws(StoreError) in
                let known = trust.origin(at: "https://b.example")
                try trust.put(origin(["https://b.example"]), insteadOf: known)
            }
        }
        expectRefusal(.untrusted) {
            try temporary.versions.changeTrust { (trust) throws(StoreError) in
                trust.origins[1].id = id
            }
        }
        try expect(readBytes(path), equals: before)
    }

    @Test func `keeps how far an origin was when somebody names keys`() throws {
        var known = origin(["https://a.example"])
        known.forgetVersion()
        expect(known.version == nil && known.floor == 3)
        known.forgetVersion()
        try put(known)
        try expect(temporary.reopened().trust().origins, equals: [known])
    }

    @Test func `keeps members that a newer castree has put in`() throws {
        try put(origin(["https://a.example"]))
        // That castree writes the digest, too.
        let text = String(decoding: try readBytes(path), as: UTF8.self)
            .replacingOccurrences(of: "\"id\"", with: "\"hint\":[1],\"id\"")
            .replacingOccurrences(of: ",\"origins\"", with: ",\"more\":true,\"origins\"")
        try writeFile(path, Self.sealed(text))
        try temporary.versions.changeTrust { (trust) throws(StoreError) in
            trust.origins[0].sequences["stable"] = 8
        }
        let after = String(decoding: try readBytes(path), as: UTF8.self)
        expect(after.contains("\"hint\":[1]") && after.contains("\"more\":true"))
        expect(after.contains("\"stable\":8"))
    }

    /// A document with its digest, made without the code that is tested.
    private static func sealed(_ body: String) throws -> [UInt8] {
        let object = try JSONSerialization.jsonObject(with: Data(body.utf8))
        var document = try require(object as? [String: Any])
        document["digest"] = nil
        let plain = try JSONSerialization.data(
            withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes])
        document["digest"] = Hex.string(try Digester.digest(.sha256, of: Array(plain)))
        return Array(
            try JSONSerialization.data(
                withJSONObject: document, options: [.sortedKeys, .withoutEscapingSlashes])) + [10]
    }

    @Test func `is refused with any bit turned, and cut anywhere`() throws {
        try put(origin(["https://a.example"]))
        let bytes = try readBytes(path)
        #expect(throws: Never.self) { try StoreTrust(parsing: bytes) }
        for place in bytes.indices.dropLast() {
            for bit in 0..<8 {
                var changed = bytes
                changed[place] ^= 1 << UInt8(bit)
                let trust = try? StoreTrust(parsing: changed)
                if trust != nil { Issue.record("bit \(bit) of byte \(place)") }
            }
            if (try? StoreTrust(parsing: Array(bytes[..<place]))) != nil {
                Issue.record("cut at \(place)")
            }
        }
    }

    @Test(
        "is found damaged by a check, and left to a person by a repair and by every change",
        arguments: ["{}", "", "directory", "link"])
    func damaged(_ what: String) throws {
        try put(origin(["https://a.example"]))
        unlink(path)
        switch what {
        case "directory": mkdir(path, 0o755)
        case "link": symlink("/etc/passwd", path)
        default: try writeFile(path, what)
        }
        expectRefusal(.badTrust) { try temporary.versions.trust() }
        expectRefusal(.badTrust) { try put(origin(["https://b.example"])) }
        for repairing in [false, true] {
            let findings = try temporary.reopened().check(repairing: repairing).findings
            expect(findings.map(\.kind), equals: [.damagedTrust])
            expect(findings.allSatisfy { !$0.isRepaired && $0.message.contains("trust add") })
        }
        try expect(temporary.reopened().evidentFindings().map(\.kind), equals: [.damagedTrust])
        if what.isEmpty || what == "{}" { try expect(readBytes(path), equals: Array(what.utf8)) }
    }

    @Test(
        "is missed where it is lost, whatever else is lost with it, until somebody trusts anew",
        arguments: [
            "nothing", "lifecycle.json", "leases", "index.sqlite", "stamp", "channels.json",
            "current",
        ])
    func lost(_ with: String) throws {
        try put(origin(["https://a.example"]))
        unlink(path)
        // Somebody cleans up, or a backup has not all of it.
        try? FileManager.default.removeItem(atPath: temporary.path + "/" + with)
        expectRefusal(.badTrust) { try temporary.reopened().trust() }
        expectRefusal(.badTrust) {
            try temporary.reopened().changeTrust { (trust) throws(StoreError) in
                try trust.put(origin(["https://b.example"]))
            }
        }
        try expect(temporary.reopened().evidentFindings().map(\.kind).contains(.damagedTrust))
        for repairing in [false, true] {
            let findings = try temporary.reopened().check(repairing: repairing).findings
            let lost = try require(findings.first { $0.kind == .damagedTrust })
            expect(!lost.isRepaired && lost.message.contains("trust add"))
        }
        // A repair of the lifecycle keeps what it said.
        expectRefusal(.badTrust) { try temporary.reopened().trust() }
        try temporary.reopened().changeTrust(anew: true) { (trust) throws(StoreError) in
            try trust.put(origin(["https://c.example"]))
        }
        try expect(temporary.reopened().trust().origins.count, equals: 1)
        try expect(temporary.reopened().check().findings.map(\.kind), equals: [])
    }

    @Test func `of a store that trusts nobody any more may be lost`() throws {
        try put(origin(["https://a.example"]))
        try temporary.versions.changeTrust { (trust) throws(StoreError) in trust.origins = [] }
        unlink(path)
        try expect(temporary.reopened().trust(), equals: StoreTrust())
        try expect(!temporary.versions.forgetLostTrust())
    }

    @Test("is missed in a store that an older castree has made, once something was verified there")
    func older() throws {
        try put(origin(["https://a.example"]))
        truncate(temporary.path + "/leases/.trust", 0)
        unlink(temporary.path + "/lifecycle.json")
        try temporary.reopened().noteKnownTrust()
        unlink(path)
        expectRefusal(.badTrust) { try temporary.reopened().trust() }
        try expect(temporary.reopened().forgetLostTrust())
        try expect(temporary.reopened().trust(), equals: StoreTrust())
    }

    @Test func `of a newer format is refused, and left as it is`() throws {
        try writeFile(path, #"{"format":2,"origins":[]}"#)
        expectRefusal(.unsupportedFormat) { try temporary.versions.trust() }
        expectRefusal(.unsupportedFormat) { try put(origin(["https://b.example"])) }
    }

    @Test func `keeps its store from being taken for an unused one`() throws {
        let store = try TemporaryStore()
        try store.versions.changeTrust { (trust) throws(StoreError) in
            try trust.put(TrustedOrigin(places: ["/a"], id: nil, keys: [key], threshold: 1))
        }
        try expect(!store.versions.store.removeUnlessUsed())
        try expect(store.reopened().trust().origins.count, equals: 1)
    }
}
