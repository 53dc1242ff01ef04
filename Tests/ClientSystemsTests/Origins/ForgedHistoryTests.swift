import BucketTestSupport

@testable import ClientSystems
@testable import HotPush

/// Pointers are signed, and histories are not: a server that trusts keys holds what histories say against the releases
/// (docs/clients.md, "Signed origins").
@Suite("A history that somebody else may have written") struct ForgedHistoryTests {
    private let place: TellingPlace
    private let key: String

    private static let configurations = [
        ClientConfiguration(.codePush, baseURL: ExpoTree.baseURL, deployments: ["KEY": .stable]),
        ClientConfiguration(
            .hotUpdater, baseURL: ExpoTree.baseURL, deployments: ["ios/production": .stable]),
        ClientConfiguration(.expo, baseURL: ExpoTree.baseURL, deployments: ["": .stable]),
        ClientConfiguration(.capgo, baseURL: ExpoTree.baseURL, deployments: ["app": .stable]),
        ClientConfiguration(.chcp, baseURL: ExpoTree.baseURL, deployments: ["production": .stable]),
    ]
    private static var systems: [ClientSystem] { configurations.map(\.system) }

    init() throws {
        place = try TellingPlace()
        for name in ["1.0.0", "2.0.0"] {
            try place.store.add(
                name, ExpoTree.files(name).merging(["index.html": "page of \(name)"]) { $1 })
        }
        key = place.store.directory.appending("release.key")
        try SigningKey.generate().write(to: key)
    }

    private func publisher(_ telling: ClientTelling) throws -> Publisher {
        var publisher = place.publisher(telling)
        publisher.options.sealing.signers = [try KeyFileSigner(file: key)]
        return publisher
    }

    /// - Parameter isSigned: whether the clients' own signatures are made, too.
    private func telling(isSigned: Bool) throws -> ClientTelling {
        let signers: [ClientSystem: any ClientSigner] =
            isSigned
            ? [
                .codePush: try TestRSAKey.signer(), .hotUpdater: try TestRSAKey.signer(),
                .expo: try TestRSAKey.signer(),
            ] : [:]
        return ClientTelling(rules: ClientSystem.feeds, signers: signers)
    }

    private func publish(
        _ version: String, _ telling: ClientTelling, after seconds: Int64 = 10
    ) throws {
        place.clock.advance(seconds)
        try publisher(telling).publish(version, of: place.versions)
    }

    private func enable(_ telling: ClientTelling, _ baseURL: String? = nil) throws {
        for var configuration in Self.configurations {
            if let baseURL { configuration.baseURL = baseURL }
            try telling.enable(configuration, by: publisher(telling))
        }
    }

    private func reader(_ baseURL: String? = nil) throws -> OriginReader {
        let trusted = try SigningKey(file: key).verificationKey
        return OriginReader(try place.reader, trust: try OriginTrust([trusted]), baseURL: baseURL)
    }

    private func expectAnswers(_ reader: OriginReader, _ count: Int, _ what: String) throws {
        for system in Self.systems {
            let channel = try reader.channel(.stable, for: system, mayRead: true).channel
            expect(channel?.live.count, equals: count, "\(what): \(system)")
            // What was looked at once is not looked at again.
            _ = try reader.channel(.stable, for: system, mayRead: false)
        }
    }

    @Test(arguments: [false, true])
    func `is believed in all that its publisher does`(_ isSigned: Bool) throws {
        let telling = try telling(isSigned: isSigned)
        try publish("1.0.0", telling)
        try enable(telling)
        let reader = try reader()
        try expectAnswers(reader, 1, "enabled")
        try publish("2.0.0", telling)
        try expectAnswers(reader, 2, "another")
        try publish("1.0.0", telling)
        try expectAnswers(reader, 2, "back")
        // The publisher's clock was set back.
        try publish("2.0.0", telling, after: -3600)
        try expectAnswers(reader, 2, "an earlier clock")
        place.clock.advance(5000)
        _ = try publisher(telling).withdraw(VersionName("2.0.0"))
        try expectAnswers(reader, 1, "withdrawn")
        place.clock.advance(10)
        _ = try publisher(telling).withdraw(VersionName("1.0.0"), toEmbedded: true)
        // Who is told of it has an offer of it.
        for system in [ClientSystem.expo, .hotUpdater] {
            try expect(
                reader.channel(.stable, for: system, mayRead: true).channel?.live.count, equals: 1)
        }
        try publish("1.0.0", telling)
        try enable(telling, "https://v.example.org")
        for reader in [reader, try self.reader(), try self.reader("https://v.example.org")] {
            for system in Self.systems {
                _ = try reader.channel(.stable, for: system, mayRead: true)
            }
        }
    }

    /// Changes what the origin says to the clients of a system, as who can write there may.
    private func forge(
        _ system: ClientSystem,
        _ change: (
            inout ClientOffer, (ClientDocument, ([UInt8]) -> [UInt8]) throws -> ClientDocument
        ) throws
            -> Void
    ) throws {
        var history = try place.history(system)
        let position = try require(history.offers.indices.last)
        try change(&history.offers[position]) { document, edit in
            let path = OriginLayout.clientDocument(document.address, of: system.rawValue)
            let bytes = edit(try Damage.contents(place.origin + "/" + path))
            var other = document
            other.address = try ObjectID(of: bytes)
            other.byteCount = Int64(bytes.count)
            let written = OriginLayout.clientDocument(other.address, of: system.rawValue)
            try Damage.overwriteOrCreate(place.origin + "/" + written, with: bytes)
            return other
        }
        let path = OriginLayout.clientHistory(of: .stable, system.rawValue)
        try Data(history.serialized()).write(to: URL(filePath: place.origin + "/" + path))
    }

    private func replaced(_ old: String, _ new: String) -> ([UInt8]) -> [UInt8] {
        { Array(String(decoding: $0, as: UTF8.self).replacing(old, with: new).utf8) }
    }

    /// What a stranger may change: its name, whose clients it is about, the server's base URL, how it is done.
    private var forgeries: [(String, ClientSystem, String?, () throws -> Void)] {
        let evil = "https://evil.example"
        return [
            (
                "a package hash", .codePush, nil,
                {
                    try forge(.codePush) { offer, _ in
                        offer.packageHash = String(repeating: "0", count: 64)
                    }
                }
            ),
            (
                "files under other paths", .hotUpdater, nil,
                {
                    try forge(.hotUpdater) { offer, edited in
                        let other = try edited(
                            offer.documents[0], replaced("index.html", "index.ios.bundle"))
                        (offer.documents, offer.manifestDigest) = ([other], other.address)
                    }
                }
            ),
            (
                "another manifest's digest", .hotUpdater, nil,
                {
                    try forge(.hotUpdater) { offer, _ in
                        offer.manifestDigest = try ObjectID(of: [1])
                    }
                }
            ),
            (
                "URLs of a stranger's", .expo, nil,
                {
                    try forge(.expo) { offer, edited in
                        offer.documents[0] = try edited(
                            offer.documents[0], replaced(ExpoTree.baseURL, evil))
                    }
                }
            ),
            (
                "a document of tomorrow", .expo, nil,
                {
                    try forge(.expo) { offer, edited in
                        offer.documents[0] = try edited(
                            offer.documents[0],
                            replaced(#""createdAt":"2025"#, #""createdAt":"2999"#))
                    }
                }
            ),
            (
                "another platform's document", .expo, nil,
                {
                    try forge(.expo) { offer, _ in
                        offer.documents[1].platform = offer.documents[0].platform
                    }
                }
            ),
            ("no document", .expo, nil, { try forge(.expo) { offer, _ in offer.documents = [] } }),
            (
                "URLs of a stranger's, which the configuration names, too", .expo,
                ExpoTree.baseURL,
                {
                    try forge(.expo) { offer, edited in
                        for position in offer.documents.indices {
                            offer.documents[position] = try edited(
                                offer.documents[position], replaced(ExpoTree.baseURL, evil))
                        }
                    }
                    var configuration = Self.configurations[2]
                    configuration.baseURL = evil
                    let path = OriginLayout.clientConfiguration(of: ClientSystem.expo.rawValue)
                    try Damage.overwriteOrCreate(
                        place.origin + "/" + path, with: configuration.serialized())
                }
            ),
        ]
            + Self.systems.map { system in
                (
                    "an offer of tomorrow", system, nil,
                    {
                        try forge(system) { offer, _ in
                            offer.createdAt += 100_000_000_000
                        }
                    }
                )
            }
    }

    @Test(arguments: [false, true])
    func `is refused where it does not follow from what was signed`(_ isSigned: Bool) throws {
        let telling = try telling(isSigned: isSigned)
        try publish("1.0.0", telling)
        try enable(telling)
        try publish("2.0.0", telling)
        let whole = try place.published().filter { $0.key.hasPrefix("for/") }
        for (what, system, baseURL, change) in forgeries {
            let reader = try reader(baseURL)
            try expectAnswers(reader, 2, "before \(what)")
            try change()
            for reader in [reader, try self.reader(baseURL)] {
                expectRefusal(
                    .untrusted, "\(what): \(system)", saying: "for/\(system.rawValue)/stable.json"
                ) {
                    try reader.channel(.stable, for: system, mayRead: true)
                }
                // The others are answered.
                for other in Self.systems where other != system {
                    try expect(reader.channel(.stable, for: other, mayRead: true).channel != nil)
                }
            }
            // Without trust it is what it was: digests prove content, and nobody proves words.
            try expect(
                OriginReader(place.reader).channel(.stable, for: system, mayRead: true).channel
                    != nil)
            for (path, bytes) in whole {
                try Data(bytes).write(to: URL(filePath: place.origin + "/" + path))
            }
            // And put back, it counts at once.
            try expectAnswers(reader, 2, "after \(what)")
        }
    }
}
