import CurlTransport
import OriginTestSupport

@testable import HotPush

/// A published origin on a real server whose releases have packs that the test makes, and an empty store.
struct PackedFixture {
    let base: PullingFixture
    var origin: FaultyOrigin { base.origin }

    /// Both releases of ``PublishingPlace``, published in turn without packs.
    init() throws {
        base = try PullingFixture()
        try base.publish("1")
    }

    func with(_ device: TemporaryStore) -> PackedFixture { PackedFixture(base.with(device)) }

    init(_ base: PullingFixture) { self.base = base }

    func manifest(_ version: String) throws -> Manifest {
        try base.place.versions.registeredManifest(of: version)
    }

    /// The bytes of all objects of both releases.
    func contents() throws -> [ObjectID: [UInt8]] {
        var contents: [ObjectID: [UInt8]] = [:]
        for files in [PublishingPlace.first, PublishingPlace.second] {
            for text in files.values { contents[try address(of: text)] = Array(text.utf8) }
        }
        return contents
    }

    func whole(_ version: String, perFrame: Int = 2) throws -> TestPack {
        try TestPack(manifest(version), contents: contents(), perFrame: perFrame)
    }

    func update(perFrame: Int = 2) throws -> TestPack {
        try TestPack(manifest("2"), from: manifest("1"), contents: contents(), perFrame: perFrame)
    }

    /// Serves packs beside the newest release; returns their paths.
    ///
    /// - Parameter change: changes the delivery's bytes before they have their address.
    @discardableResult
    func serve(
        _ packs: [TestPack], changing change: (inout [UInt8]) -> Void = { _ in }
    ) throws -> [String] {
        let pointer = try require(try DirectoryOrigin(base.place.origin).pointer(.stable))
        let version = try require(pointer.releases[0].version)
        var delivery = Delivery(manifest: version.manifest, packs: [])
        var paths: [String] = []
        for pack in packs {
            let (bytes, described) = try pack.made()
            delivery.packs.append(described)
            paths.append("/" + OriginLayout.path(.pack, described.address))
            origin.put(Content(bytes), at: paths[paths.count - 1])
        }
        var bytes = delivery.serialized()
        change(&bytes)
        let published = PublishedDelivery(
            address: try ObjectID(of: bytes), byteCount: Int64(bytes.count))
        base.put(bytes, at: "/" + OriginLayout.path(.delivery, published.address))
        let next = try require(
            pointer.delivering(version.manifest, by: published, now: pointer.createdAt))
        base.put(next.serialized(), at: "/" + OriginLayout.pointer(.stable))
        return paths
    }

    func deliveryPath() throws -> String {
        let bytes = origin.state.shared.withLock {
            $0.contents["/" + OriginLayout.pointer(.stable)]?.bytes
        }
        let pointer = try ChannelPointer(parsing: require(bytes), of: .stable)
        return "/" + OriginLayout.path(.delivery, try require(pointer.releases[0].delivery).address)
    }

    /// The paths asked for, in order, without repetitions of one after the other.
    var asked: [String] { origin.requests.map(\.path) }

    /// What the event log says of packs that were of no use.
    func fallbacks() throws -> [String] {
        try EventLog(base.device.reopened()).entries().compactMap { entry in
            entry.event.name == "fallback" ? entry.event.text("reason") : nil
        }
    }

    @discardableResult
    func run(_ change: (inout PullOptions) -> Void = { _ in }) throws -> PullReport {
        let eventLog = EventLog(try base.device.reopened())
        return try base.run(PullingFixture.options.with { $0.eventLog = eventLog }.with(change))
    }
}
