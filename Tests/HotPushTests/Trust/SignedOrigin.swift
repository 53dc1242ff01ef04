import OriginTestSupport

@testable import HotPush

/// An origin whose pointers are signed, and a device that trusts its keys: behind a web server, in a directory that the
/// device reads, or in a bucket.
///
/// Its files are what readers see. Whoever can write to it changes them, as ``write(_:at:)`` does.
final class SignedOrigin {
    enum Kind: CaseIterable { case server, directory, bucket }

    static let id = "00112233445566778899aabbccddeeff"
    static let otherID = "ffeeddccbbaa99887766554433221100"

    let place: PublishingPlace
    let device: TemporaryStore
    let kind: Kind
    private let server: FaultyOrigin
    private let store = ModelStore()
    let keys: [SigningKey]
    let stranger: SigningKey
    var now: Int64
    private(set) var files: [String: [UInt8]] = [:]

    static let pointer = OriginLayout.pointer(.stable)

    /// - Parameter threshold: so many of as many keys must sign.
    init(_ kind: Kind = .server, threshold: Int = 1, isTrusted: Bool = true) throws {
        self.kind = kind
        place = try PublishingPlace()
        device = try TemporaryStore()
        server = try FaultyOrigin()
        keys = try (0..<threshold).map { _ throws(StoreError) in try SigningKey.generate() }
        stranger = try SigningKey.generate()
        now = place.clock.now + 1000
        if isTrusted { try trust(keys.map(\.verificationKey), threshold) }
    }

    var url: String {
        switch kind {
        case .server: server.url
        case .directory: directory
        case .bucket: "s3://updates/app"
        }
    }

    /// What `trust remove` and `trust add` do: nothing is known of the origin any more.
    func trust(
        _ keys: [VerificationKey], _ threshold: Int = 1, id: String? = SignedOrigin.id
    ) throws {
        let place = try OriginReference(parsing: url).location.trustPlace
        try device.versions.changeTrust { (trust) throws(StoreError) in
            trust.origins.removeAll { $0.isAt(place) }
            try trust.put(TrustedOrigin(places: [place], id: id, keys: keys, threshold: threshold))
        }
    }

    private var directory: String { place.store.directory.appending("served") }

    var trusted: TrustedOrigin? { get throws { try device.versions.trust().origins.first } }

    // MARK: What readers see

    func write(_ bytes: [UInt8]?, at path: String) {
        files[path] = bytes
        store.set(path, bytes)
        if kind == .directory { writeFile(bytes, at: "\(directory)/\(path)") }
        let type = path.hasSuffix(".json") ? "application/json" : "application/octet-stream"
        server.put(bytes.map { Content($0, type: type) }, at: "/" + path)
    }

    private func writeFile(_ bytes: [UInt8]?, at path: String) {
        guard let bytes else { return Damage.remove(path) }
        do {
            try Damage.makeDirectory((path as NSString).deletingLastPathComponent)
            try Data(bytes).write(to: URL(filePath: path), options: .atomic)
        } catch {
            Issue.record(error)
        }
    }

    /// Publishes a version and serves its content; not yet its pointer.
    /// - Returns: the channel's pointer, which nobody has signed.
    func publish(
        _ version: String, to channel: String = "stable", packs: PackOptions.Timing = .never
    ) throws -> ChannelPointer {
        place.clock.advance(1)
        try place.publisher(packs: packs).publish(
            version, of: place.versions, as: ReleaseOffer(channel: try ChannelName(channel)))
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(ChannelName(channel)))
        for (path, bytes) in try place.published() where !path.hasPrefix("channels") {
            if files[path] != bytes { write(bytes, at: path) }
        }
        return pointer
    }

    func signed(
        _ pointer: ChannelPointer, by keys: [SigningKey]? = nil,
        _ change: (inout ChannelPointer) -> Void = { _ in }
    ) throws -> [UInt8] {
        var pointer = pointer
        pointer.origin = Self.id
        change(&pointer)
        pointer.signatures = try Self.signatures(of: pointer.signedBytes, by: keys ?? self.keys)
        return pointer.serialized()
    }

    static func signatures(of bytes: [UInt8], by keys: [SigningKey]) throws -> [PointerSignature] {
        try keys.map { key throws(StoreError) in
            PointerSignature(key: key.verificationKey.id, signature: try key.sign(bytes))
        }.sorted { $0.key < $1.key }
    }

    @discardableResult
    func offer(
        _ version: String, _ change: (inout ChannelPointer) -> Void = { _ in }
    ) throws -> [UInt8] {
        let bytes = try signed(publish(version), change)
        write(bytes, at: Self.pointer)
        return bytes
    }

    /// Offers what keys have signed by a version of the trust, `nil` being the first.
    func offer(_ version: String, trust: Int64?, by keys: SigningKey...) throws {
        let bytes = try signed(publish(version), by: keys) { $0.trustVersion = trust }
        write(bytes, at: Self.pointer)
    }

    static func given(_ keys: SigningKey..., version: Int64? = nil) throws -> GivenTrust {
        try GivenTrust(keys.map(\.verificationKey.pem), threshold: 1, origin: id, version: version)
    }

    /// A version of its trust, at its place.
    func write(
        _ version: Int64, _ keys: [SigningKey], threshold: Int = 1, by signers: [SigningKey],
        of id: String = SignedOrigin.id, at path: String? = nil
    ) throws {
        var file = TrustFile(
            origin: id, version: version,
            trusted: try TrustedKeys(keys.map(\.verificationKey), threshold: threshold),
            createdAt: now)
        file.signatures = try Self.signatures(of: file.signedBytes, by: signers)
        write(file.serialized(), at: path ?? OriginLayout.trust(version))
    }

    // MARK: The device

    func options(_ change: (inout PullOptions) -> Void = { _ in }) -> PullOptions {
        PullingFixture.options.with {
            ($0.destination, $0.eventLog) = (.current, EventLog(device.versions))
            $0.now = { [now] in now }
        }.with(change)
    }

    func client(_ change: (inout PullOptions) -> Void = { _ in }) throws -> Pull {
        let options = options(change)
        switch kind {
        case .server:
            return Pull(into: try device.reopened(), over: try PullingFixture.transport(), options)
        case .directory:
            return Pull(into: try device.reopened(), over: DirectoryTransport(directory), options)
        case .bucket:
            let keys = FixedKeys(AccessKeys(id: "AKIAIOSFODNN7EXAMPLE", secret: "secret"))
            return Pull(
                into: try device.reopened(),
                over: SignedTransport(SignedServer(store), to: try .updates(keys)), options)
        }
    }

    @discardableResult
    func pull(_ change: (inout PullOptions) -> Void = { _ in }) throws -> PullReport? {
        try client(change).run(url)
    }

    func expectUntrusted(
        sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout PullOptions) -> Void = { _ in }
    ) throws {
        let before = try state()
        expectRefusal(.untrusted, sourceLocation: sourceLocation) { try pull(change) }
        #expect(try state() == before, sourceLocation: sourceLocation)
    }

    var requests: [OriginRequest] { server.requests }

    /// All that the device keeps, but its events and what is derived: path to bytes, links to where they lead.
    func state() throws -> [String: [UInt8]] {
        var state: [String: [UInt8]] = [:]
        for name in Damage.names(device.path) {
            let isLog = name.hasPrefix("events") || name.hasPrefix("leases")
            if isLog || name.hasPrefix("index") || name == "stamp" { continue }
            let path = device.path + "/" + name
            if let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path) {
                state[name] = Array(target.utf8)
                continue
            }
            var isDirectory: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            state[name] = isDirectory.boolValue ? [] : try Damage.contents(path)
        }
        return state
    }

    func sentences() throws -> [String] { try EventLog(device.versions).entries().map(\.sentence) }
}
