import Archives
import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

/// An origin in a directory, written file by file as a publisher writes it.
final class ServedPlace {
    let directory = TemporaryDirectory()
    private(set) var history = ClientHistory(ModelFeed.system, .stable)
    private(set) var pointer: ChannelPointer
    var signers: [SigningKey] = []

    init() throws {
        pointer = ChannelPointer(channel: .stable, sequence: 0, createdAt: 1, releases: [])
        try write("origin.json", Array("{\"castreeOrigin\":1}\n".utf8))
        try enable(["KEY": .stable])
    }

    func enable(_ deployments: [String: ChannelName]) throws {
        let configuration = ClientConfiguration(
            ModelFeed.system, baseURL: "https://u.example.org", deployments: deployments)
        try write(
            OriginLayout.clientConfiguration(of: ModelFeed.system.rawValue),
            configuration.serialized())
    }

    func origin() throws -> DirectoryOrigin { try DirectoryOrigin(directory.path) }

    /// Replaces a file in one step, as a publisher does.
    func write(_ path: String, _ bytes: [UInt8]) throws {
        let file = URL(filePath: directory.appending(path))
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: file, options: .atomic)
    }

    func remove(_ path: String) throws {
        try FileManager.default.removeItem(atPath: directory.appending(path))
    }

    /// Publishes a version: objects, facts and manifest now; the history and the pointer when the two steps are taken.
    func begin(
        _ name: String, _ files: [String: String]
    ) throws -> (history: () throws -> Void, pointer: () throws -> Void) {
        var entries: [Manifest.Entry] = []
        var facts: [ObjectID: ObjectFacts] = [:]
        for (path, text) in files {
            let bytes = Array(text.utf8)
            let address = try address(of: bytes)
            try write(OriginLayout.path(.object, address), bytes)
            // For the answer that the model's feed reads whole.
            try write(OriginLayout.clientDocument(address, of: ModelFeed.system.rawValue), bytes)
            entries.append(
                Manifest.Entry(
                    path: try TreePath(path), address: address, byteCount: Int64(bytes.count)))
            facts[address] = try ObjectFacts(of: bytes)
        }
        let manifest = try Manifest(
            version: try VersionName(name), ordinal: 1, createdAt: 1, entries: entries)
        let manifestBytes = try manifest.serialized()
        let manifestAddress = try address(of: manifestBytes)
        try write(OriginLayout.path(.manifest, manifestAddress), manifestBytes)
        let factBytes = ContentFacts(Array(facts.values)).serialized()
        let factsAddress = try address(of: factBytes)
        try write(OriginLayout.path(.facts, factsAddress), factBytes)

        let version = PublishedVersion(
            name: try VersionName(name), manifest: manifestAddress,
            manifestByteCount: Int64(manifestBytes.count), content: try manifest.contentAddress())
        let sequence = pointer.sequence + 1
        history.offers.append(
            ClientOffer(
                sequence: sequence, target: .version(version, facts: factsAddress),
                createdAt: sequence * 1000, firstOfferedAt: sequence * 1000))
        pointer.sequence = sequence
        pointer.releases.insert(
            ChannelRelease(
                .version(version), sequence: sequence, createdAt: sequence,
                facts: PublishedFacts(address: factsAddress)),
            at: 0)
        let (history, pointer) = (history, try signed(pointer))
        return (
            { [self] in
                try write(
                    OriginLayout.clientHistory(of: .stable, ModelFeed.system.rawValue),
                    history.serialized())
            }, { [self] in try write(OriginLayout.pointer(.stable), pointer.serialized()) }
        )
    }

    func publish(_ name: String, _ files: [String: String]) throws {
        let steps = try begin(name, files)
        try steps.history()
        try steps.pointer()
    }

    func signed(_ pointer: ChannelPointer) throws -> ChannelPointer {
        guard !signers.isEmpty else { return pointer }
        var pointer = pointer
        pointer.origin = String(repeating: "0f", count: 16)
        for key in signers {
            pointer.signatures.append(
                PointerSignature(
                    key: key.verificationKey.id, signature: try key.sign(pointer.signedBytes)))
        }
        return pointer
    }
}

/// A system of the tests' own: what a channel offers as text, its newest release as an archive.
enum ModelFeed: ClientFeed {
    static let system = ClientSystem.capgo
    static let check = "/model/KEY/check"

    /// What a check is told where so many offers were made, of which these count.
    static func told(
        _ names: String..., of count: Int, from baseURL: String = "https://u.example.org"
    ) -> String { "\(baseURL) \(names) of \(count)" }

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        let origin = inquiry.origin
        let parts = inquiry.request.path.split(separator: "/").map(String.init)
        guard parts.count == 3, parts[0] == "model" else { return nil }
        guard let channel = try inquiry.channel(of: parts[1]), let newest = channel.live.first
        else { return ClientAnswer(404) }
        switch parts[2] {
        case "check":
            let versions = channel.live.map { $0.release.version?.name.description ?? "" }
            let text = "\(inquiry.configuration.baseURL) \(versions) of \(channel.past.count)"
            return ClientAnswer(200, body: .bytes(Array(text.utf8)))
        case "archive":
            guard let content = try origin.content(of: newest.offer) else {
                return ClientAnswer(404)
            }
            var members: [ZipMember] = []
            for entry in content.manifest.entries {
                guard let facts = content.facts[entry.address] else { return ClientAnswer(404) }
                members.append(
                    ZipMember(
                        path: entry.path.description, byteCount: entry.byteCount,
                        crc32: facts.crc32, content: .object(entry.address)))
            }
            return ClientAnswer(200, body: .archive(try ZipArchive(members)))
        case "long":
            return ClientAnswer(
                200,
                body: .bytes(
                    try origin.encoded(named: "model \(newest.offer.sequence)") {
                        () throws(StoreError) in
                        let name = newest.release.version?.name.description ?? ""
                        return Array(String(repeating: name, count: 10_000).utf8)
                    }))
        case "first":
            guard let entry = try origin.content(of: newest.offer)?.manifest.entries.first,
                let bytes = try origin.bytes(
                    of: ClientDocument(
                        platform: "", runtimeVersion: "", id: "", address: entry.address,
                        byteCount: entry.byteCount), for: system)
            else { return ClientAnswer(404) }
            return ClientAnswer(200, body: .bytes(bytes))
        default: return ClientAnswer(404)
        }
    }
}

/// Claims every path, if it is enabled.
enum GreedyFeed: ClientFeed {
    static let system = ClientSystem.meteor

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        ClientAnswer(418)
    }
}

extension OriginAnswers {
    /// The text that a path is answered with, or the status.
    func text(_ path: String, mayRead: Bool = true) throws -> String {
        let answer = try answer(ClientRequest("GET", path), mayRead: mayRead)
        guard let answer else { return "nothing" }
        guard answer.status == 200, case .bytes(let bytes) = answer.body else {
            return "\(answer.status)"
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
