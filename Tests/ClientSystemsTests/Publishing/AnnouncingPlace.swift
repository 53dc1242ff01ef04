import Archives
import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// A store, an origin beside it, and rules of two model systems: one has labels and archives, one documents and times.
struct AnnouncingPlace {
    let store: TemporaryStore
    let clock = ServerClock(1_760_000_000)
    private var originName = "origin"
    let notices = Notices()

    static let files: [String: [String: String]] = [
        "1": [
            "index.html": "<h1>one</h1>", "js/app.js": Self.text(1), "empty": "",
            "tools/serve": "#! /bin/sh\n",
        ],
        "2": ["index.html": "<h1>two</h1>", "js/app.js": Self.text(1), "large": Self.text(3000)],
        "3": ["index.html": "<h1>three</h1>", "js/app.js": Self.text(2)],
        "refused": ["refused.txt": "no"],
        "lossy": ["lossy.txt": "half"],
        "long": ["long.txt": "what is told of it is too long to be sent"],
    ]

    static func text(_ count: Int) -> String {
        (0..<count * 10).map { "a line with the number \($0 % 97)\n" }.joined()
    }

    init() throws {
        store = try TemporaryStore()
        for (name, files) in Self.files.sorted(by: { $0.key < $1.key }) {
            try store.add(name, files)
        }
    }

    var origin: String { store.directory.appending(originName) }
    var versions: VersionStore { store.versions }
    var reader: DirectoryOrigin { get throws { try DirectoryOrigin(origin) } }

    func withOrigin(_ name: String) -> AnnouncingPlace {
        var place = self
        place.originName = name
        return place
    }

    func announcing(
        _ systems: Set<ClientSystem>? = nil, _ signers: [ClientSystem: any ClientSigner] = [:]
    ) -> ClientAnnouncing {
        ClientAnnouncing(
            rules: [LabelledFeed.self, TimedFeed.self], systems: systems, signers: signers)
    }

    func publisher(
        on fileSystem: any FileSystem = POSIXFileSystem(), _ announcing: ClientAnnouncing? = nil,
        isDurable: Bool = false, verifying: Bool = false
    ) -> Publisher {
        var options = PublisherOptions()
        options.isDurable = isDurable
        options.packs.timing = .never
        options.verifiesObjects = verifying
        options.announcing = announcing ?? self.announcing()
        let notices = notices
        options.notice = notices.sink
        let clock = clock
        return Publisher(origin, options: options, fileSystem: fileSystem, now: { clock.now })
    }

    @discardableResult
    func publish(_ version: String, _ announcing: ClientAnnouncing? = nil) throws -> PublishPlan {
        clock.advance(10)
        return try require(publisher(announcing).publish(version, of: versions).plan)
    }

    static func configuration(_ system: ClientSystem) -> ClientConfiguration {
        ClientConfiguration(system, baseURL: "https://u.example.org", deployments: ["key": .stable])
    }

    func enable(_ systems: ClientSystem...) throws {
        for system in systems {
            try announcing().enable(Self.configuration(system), by: publisher())
        }
    }

    /// What the origin announces to the clients of all systems.
    func statuses() throws -> [ClientStatus] { try ClientStatus.all(in: clients()) }

    func history(_ system: ClientSystem) throws -> ClientHistory {
        let path = origin + "/" + OriginLayout.clientHistory(of: .stable, system.rawValue)
        return try ClientHistory(parsing: Damage.contents(path), of: .stable, system)
    }

    /// What the log says to the clients of other systems.
    func clients() throws -> ClientLog { try publisher().engine(isDraft: true).clients() }

    /// What a decider would see; any file that it needs and that is missing or wrong is an issue.
    func channel(_ system: ClientSystem) throws -> ClientChannel {
        let reader = try reader
        let pointer = try require(try reader.pointer(.stable))
        // A system that was told nothing has no history.
        let history = (try? history(system)) ?? ClientHistory(system, .stable)
        let channel = ClientChannel(pointer, history)
        for live in channel.live {
            guard case .version(let version, let address) = live.offer.target else { continue }
            // A pointer that is about to be given facts has none yet.
            expect(live.release.facts?.address ?? address, equals: address)
            let facts = try ContentFacts(
                bytes { OriginLayout.path(.facts, address, in: $0) }, named: address)
            let manifest = try Manifest(
                parsing: bytes { OriginLayout.path(.manifest, version.manifest, in: $0) })
            expect(facts.objects.map(\.address), equals: manifest.references.map(\.address))
            for object in facts.objects { try check(object) }
            for document in live.offer.documents {
                let bytes = try bytes {
                    OriginLayout.clientDocument(document.address, of: system.rawValue, in: $0)
                }
                try expect(
                    ObjectID(of: bytes) == document.address
                        && Int64(bytes.count) == document.byteCount)
            }
        }
        return channel
    }

    /// The bytes of a file, in whatever epoch it stands.
    private func bytes(of path: (Int64) -> String) throws -> [UInt8] {
        let paths = (0..<9).map { origin + "/" + path($0) }
        let found = paths.first { FileManager.default.fileExists(atPath: $0) }
        return try Damage.contents(require(found, "\(path(0))"))
    }

    /// Holds facts against the bytes.
    func check(_ object: ObjectFacts) throws {
        let bytes = try bytes { OriginLayout.path(.object, object.address, in: $0) }
        expect(Int64(bytes.count), equals: object.byteCount)
        expect(CRC32(of: bytes).value, equals: object.crc32)
        try expect(Hex.string(Digester.digest(.md5, of: bytes)), equals: object.md5)
        guard let deflatedCopy = object.deflatedCopy else { return }
        let packed = try self.bytes {
            OriginLayout.path(.deflatedCopy, deflatedCopy.address, in: $0)
        }
        try expect(ObjectID(of: packed), equals: deflatedCopy.address)
        expect(Int64(packed.count) == deflatedCopy.byteCount && packed.count < bytes.count)
        try expect(inflate(packed), equals: bytes)
    }

    private func inflate(_ packed: [UInt8]) throws -> [UInt8] {
        let inflater = try Inflater()
        var bytes: [UInt8] = []
        try packed.span.bytes.withUnsafeBytes { (packed) throws(StoreError) in
            try inflater.add(packed) { bytes += $0 }
        }
        try inflater.finish()
        return bytes
    }

    /// All files of the origin but the publisher's own: path to bytes.
    func published() throws -> [String: [UInt8]] {
        try Damage.files(below: origin, without: ".publish")
    }

    /// The same without what nothing names before an entry of the log does: objects and manifests.
    func announced() throws -> [String: [UInt8]] {
        try published().filter { !$0.key.hasPrefix("objects/") && !$0.key.hasPrefix("manifests/") }
    }

    /// Makes it an origin that an older castree has written: without a log.
    func unlog() throws { try Damage.forgetLog(of: origin) }

    func offered() throws -> [String] {
        let pointer = try reader.pointer(.stable)
        return pointer?.releases.map { $0.version?.name.description ?? "embedded" } ?? []
    }
}

/// What is done to an origin that announces to the clients of other systems.
enum AnnouncingVerb {
    case publish, repeated, verify, withdraw, prune, plan, enable, disable, status

    func run(
        _ place: AnnouncingPlace, _ announcing: ClientAnnouncing, of system: ClientSystem = .expo
    ) throws {
        let publisher = place.publisher(announcing)
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
        switch self {
        case .publish: try place.publish("3", announcing)
        case .repeated: try place.publish("2", announcing)
        case .verify:
            try place.publisher(announcing, verifying: true).publish("2", of: place.versions)
        case .withdraw:
            var urgent = announcing
            urgent.isUrgent = true
            _ = try place.publisher(urgent).withdraw(VersionName("2"))
        case .prune: _ = try publisher.collect(retention)
        case .plan: _ = try publisher.planCollection(retention)
        case .enable: try announcing.enable(AnnouncingPlace.configuration(system), by: publisher)
        case .disable: _ = try announcing.disable(system, by: publisher.engine())
        case .status: _ = try place.statuses()
        }
    }
}

extension ClientAnnouncing {
    /// Tells some systems by some rules.
    init(
        rules: [any ClientFeed.Type], systems: Set<ClientSystem>? = nil,
        signers: [ClientSystem: any ClientSigner] = [:]
    ) {
        self.init()
        self.rules = rules
        self.systems = systems
        self.signers = signers
    }
}

/// A system with labels and archives, as CodePush.
enum LabelledFeed: ClientFeed {
    static let system = ClientSystem.codePush

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] {
        let names = release.content?.manifest.entries.map(\.path.description) ?? []
        return names.compactMap { name in
            switch name {
            case "refused.txt": ClientObjection(refuses: true, message: "there is a refused.txt")
            case "lossy.txt": ClientObjection(refuses: false, message: "there is a lossy.txt")
            default: nil
            }
        }
    }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        prepared.offer.label = "v\(history.nextLabelNumber)"
        if let content = release.content {
            let archive = try ZipArchive(content.zipped)
            prepared.offer.archive = try release.digest(archive)
            prepared.offer.packageHash = try Hex.string(
                Digester.digest(
                    .sha256, of: release.read(content.manifest.references.first?.address ?? .zero)))
        }
        if let signer, release.content != nil {
            let signature = try signer.sign(Array("archive".utf8))
            prepared.offer.signatures["archive"] = Hex.string(signature)
        }
    }
}

/// A system whose clients go by times, and get documents, as Expo.
enum TimedFeed: ClientFeed {
    static let system = ClientSystem.expo
    static let ordersByTime = true

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {
        var bytes = Array("{\"createdAt\":\(release.now)}".utf8)
        if release.content?.manifest.entries.first?.path.description == "long.txt" {
            bytes += [UInt8](repeating: 32, count: Int(ClientDocument.byteCountMax))
        }
        prepared.add(
            try ClientDocument(
                of: bytes, id: "id-\(release.now)", platform: "ios", runtimeVersion: "1"), bytes)
    }
}

extension ClientContent {
    /// The files as members of an archive.
    var zipped: [ZipMember] {
        manifest.entries.compactMap { entry in
            guard let known = facts[entry.address] else { return nil }
            return ZipMember(
                path: entry.path.description, isExecutable: entry.isExecutable,
                byteCount: entry.byteCount, crc32: known.crc32,
                content: known.deflatedCopy.map {
                    .deflatedCopy($0.address, byteCount: $0.byteCount)
                }
                    ?? .object(entry.address))
        }
    }
}

extension ClientAnnouncing {
    @discardableResult
    func enable(
        _ configuration: ClientConfiguration, by publisher: Publisher
    ) throws(StoreError) -> [ChannelPointer] {
        try enable(configuration, by: publisher.engine()).pointers
    }
}
