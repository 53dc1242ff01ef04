import BucketTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// Pointers are signed, and histories are not: a server that trusts keys holds what histories say against the releases
/// (docs/clients.md, "Signed origins").
@Suite("A history that somebody else may have written") struct ForgedHistoryTests {
    private let place: AnnouncingPlace
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
        place = try AnnouncingPlace()
        for name in ["1.0.0", "2.0.0"] {
            try place.store.add(
                name, ExpoTree.files(name).merging(["index.html": "page of \(name)"]) { $1 })
        }
        key = place.store.directory.appending("release.key")
        try SigningKey.generate().write(to: key)
    }

    private func publisher(_ announcing: ClientAnnouncing) throws -> Publisher {
        var publisher = place.publisher(announcing)
        publisher.options.signing.signers = [try KeyFileSigner(file: key)]
        return publisher
    }

    /// - Parameter isSigned: whether the clients' own signatures are made, too.
    private func announcing(isSigned: Bool) throws -> ClientAnnouncing {
        let signers: [ClientSystem: any ClientSigner] =
            isSigned
            ? [
                .codePush: try TestRSAKey.signer(), .hotUpdater: try TestRSAKey.signer(),
                .expo: try TestRSAKey.signer(),
            ] : [:]
        return ClientAnnouncing(rules: ClientSystem.feeds, signers: signers)
    }

    private func publish(
        _ version: String, _ announcing: ClientAnnouncing, after seconds: Int64 = 10
    ) throws {
        place.clock.advance(seconds)
        try publisher(announcing).publish(version, of: place.versions)
    }

    private func enable(_ announcing: ClientAnnouncing, _ baseURL: String? = nil) throws {
        for var configuration in Self.configurations {
            if let baseURL { configuration.baseURL = baseURL }
            try announcing.enable(configuration, by: publisher(announcing))
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
        let announcing = try announcing(isSigned: isSigned)
        try publish("1.0.0", announcing)
        try enable(announcing)
        let reader = try reader()
        try expectAnswers(reader, 1, "enabled")
        try publish("2.0.0", announcing)
        try expectAnswers(reader, 2, "another")
        try publish("1.0.0", announcing)
        try expectAnswers(reader, 2, "back")
        // The publisher's clock was set back.
        try publish("2.0.0", announcing, after: -3600)
        try expectAnswers(reader, 2, "an earlier clock")
        place.clock.advance(5000)
        _ = try publisher(announcing).withdraw(VersionName("2.0.0"))
        try expectAnswers(reader, 1, "withdrawn")
        place.clock.advance(10)
        _ = try publisher(announcing).withdraw(VersionName("1.0.0"), toEmbedded: true)
        // Who is told of it has an offer of it.
        for system in [ClientSystem.expo, .hotUpdater] {
            try expect(
                reader.channel(.stable, for: system, mayRead: true).channel?.live.count, equals: 1)
        }
        try publish("1.0.0", announcing)
        try enable(announcing, "https://v.example.org")
        for reader in [reader, try self.reader(), try self.reader("https://v.example.org")] {
            for system in Self.systems {
                _ = try reader.channel(.stable, for: system, mayRead: true)
            }
        }
    }

    /// Writes another document in place of one.
    private typealias Edit = (ClientDocument, ([UInt8]) -> [UInt8]) throws -> ClientDocument

    /// What a stranger may change: its name, whose clients it is about, how it is done, and the base URL of the server
    /// if the configuration names a stranger's, too.
    private struct Forgery {
        let what: String
        let system: ClientSystem
        let baseURL: String?
        let change: (inout ClientOffer, Edit) throws -> Void

        init(
            _ what: String, _ system: ClientSystem, at baseURL: String? = nil,
            _ change: @escaping (inout ClientOffer, Edit) throws -> Void
        ) {
            (self.what, self.system, self.baseURL, self.change) = (what, system, baseURL, change)
        }
    }

    private static let evil = "https://evil.example"

    /// Changes what the origin says to the clients of a system, as who can write there may.
    private func forge(_ forgery: Forgery) throws {
        let system = forgery.system
        var history = try place.history(system)
        let position = try require(history.offers.indices.last)
        func write(_ path: String, _ bytes: [UInt8]) throws {
            try Damage.overwriteOrCreate(place.origin + "/" + path, with: bytes)
        }
        try forgery.change(&history.offers[position]) { document, edit in
            let path = OriginLayout.clientDocument(document.address, of: system.rawValue)
            let bytes = edit(try Damage.contents(place.origin + "/" + path))
            var other = document
            (other.address, other.byteCount) = (try ObjectID(of: bytes), Int64(bytes.count))
            try write(OriginLayout.clientDocument(other.address, of: system.rawValue), bytes)
            return other
        }
        try write(OriginLayout.clientHistory(of: .stable, system.rawValue), history.serialized())
        guard forgery.baseURL != nil else { return }
        var configuration = try require(Self.configurations.first { $0.system == system })
        configuration.baseURL = Self.evil
        try write(
            OriginLayout.clientConfiguration(of: system.rawValue), configuration.serialized())
    }

    private func replaced(_ old: String, _ new: String) -> ([UInt8]) -> [UInt8] {
        { Array(String(decoding: $0, as: UTF8.self).replacing(old, with: new).utf8) }
    }

    private var forgeries: [Forgery] {
        [
            Forgery("a package hash", .codePush) { offer, _ in
                offer.packageHash = String(repeating: "0", count: 64)
            },
            Forgery("files under other paths", .hotUpdater) { offer, edited in
                let other = try edited(
                    offer.documents[0], replaced("index.html", "index.ios.bundle"))
                (offer.documents, offer.manifestDigest) = ([other], other.address)
            },
            Forgery("another manifest's digest", .hotUpdater) { offer, _ in
                offer.manifestDigest = try ObjectID(of: [1])
            },
            Forgery("URLs of a stranger's", .expo) { offer, edited in
                offer.documents[0] = try edited(
                    offer.documents[0], replaced(ExpoTree.baseURL, Self.evil))
            },
            Forgery("a document of tomorrow", .expo) { offer, edited in
                offer.documents[0] = try edited(
                    offer.documents[0], replaced(#""createdAt":"2025"#, #""createdAt":"2999"#))
            },
            Forgery("another platform's document", .expo) { offer, _ in
                offer.documents[1].platform = offer.documents[0].platform
            },
            Forgery("no document", .expo) { offer, _ in offer.documents = [] },
            Forgery(
                "URLs of a stranger's, which the configuration names, too", .expo,
                at: ExpoTree.baseURL
            ) { offer, edited in
                offer.documents = try offer.documents.map {
                    try edited($0, replaced(ExpoTree.baseURL, Self.evil))
                }
            },
        ]
            + Self.systems.map { system in
                Forgery("an offer of tomorrow", system) { offer, _ in
                    offer.createdAt += 100_000_000_000
                }
            }
    }

    @Test(arguments: [false, true])
    func `is refused where it does not follow from what was signed`(_ isSigned: Bool) throws {
        let announcing = try announcing(isSigned: isSigned)
        try publish("1.0.0", announcing)
        try enable(announcing)
        try publish("2.0.0", announcing)
        let whole = try place.published().filter { $0.key.hasPrefix("for/") }
        for forgery in forgeries {
            let (what, system, baseURL) = (forgery.what, forgery.system, forgery.baseURL)
            let reader = try reader(baseURL)
            try expectAnswers(reader, 2, "before \(what)")
            try forge(forgery)
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
