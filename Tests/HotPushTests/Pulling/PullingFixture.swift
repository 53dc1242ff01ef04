import CurlTransport
import OriginTestSupport

@testable import HotPush

/// A published origin on a real server, and an empty store that pulls from it.
struct PullingFixture {
    let place: PublishingPlace
    let origin: FaultyOrigin
    let device: TemporaryStore

    init() throws {
        place = try PublishingPlace()
        origin = try FaultyOrigin()
        device = try TemporaryStore()
    }

    init(offering version: String) throws {
        try self.init()
        try publish(version)
    }

    /// One whose device has what its channel offers.
    init(pulled version: String) throws {
        try self.init(offering: version)
        try run()
    }

    /// Another device that pulls from the same origin.
    func with(_ device: TemporaryStore) -> PullingFixture {
        PullingFixture(place: place, origin: origin, device: device)
    }

    private init(place: PublishingPlace, origin: FaultyOrigin, device: TemporaryStore) {
        (self.place, self.origin, self.device) = (place, origin, device)
    }

    /// Publishes a version, and serves what the origin has from now on.
    func publish(_ version: String) throws {
        try place.publish(version)
        try serve()
    }

    /// - Parameter other: who has put something else in the origin's place.
    func serve(_ other: PublishingPlace? = nil) throws {
        origin.serve(try (other ?? place).published())
    }

    static func transport(
        parallel: Int = 4, stallTimeout: Duration = .seconds(1)
    ) throws(StoreError) -> CurlTransport {
        var options = TransportOptions()
        (options.parallelCount, options.stallTimeout) = (parallel, stallTimeout)
        options.proxy = ""
        return try CurlTransport(options)
    }

    static var options: PullOptions { .hasty }

    /// A new client, as a new process would have it.
    func pull(_ options: PullOptions = PullingFixture.options, parallel: Int = 4) throws -> Pull {
        Pull(into: try device.reopened(), over: try Self.transport(parallel: parallel), options)
    }

    func repair(_ options: PullOptions = PullingFixture.options) throws -> OriginRepair {
        OriginRepair(try pull(options).basis)
    }

    /// A manager as a process of the app makes it.
    func process(
        clock: ManualClock = ManualClock(), stallTimeout: Duration = .seconds(60),
        pulling: PullOptions = PullingFixture.options,
        _ set: (inout UpdateOptions) -> Void = { _ in }
    ) throws -> UpdateManager {
        var options = UpdateOptions()
        set(&options)
        return try .pulling(
            from: origin.url, into: device, options, pulling, clock: clock,
            stallTimeout: stallTimeout)
    }

    /// Brings what is offered to the device, as one process after the other does, until it is known good.
    func bringLive(_ version: String) async throws {
        _ = try await process().update()
        let next = try process()
        let boot = try require(try await next.start())
        expect(boot.version, equals: version)
        try await next.confirm(version, token: boot.token)
    }

    /// Pulls, and expects that something comes of it.
    @discardableResult
    func run(
        _ options: PullOptions = PullingFixture.options, parallel: Int = 4
    ) throws -> PullReport {
        try require(try pull(options, parallel: parallel).run(origin.url))
    }

    /// Pulls with the options of these tests, but for what `set` changes.
    @discardableResult
    func run(parallel: Int = 4, _ set: (inout PullOptions) -> Void) throws -> PullReport {
        try run(Self.options.with(set), parallel: parallel)
    }

    /// What of castree's own origin was asked for, but for documents.
    var askedObjects: [String] { origin.requests.map(\.path).filter { $0.hasPrefix("/objects/") } }

    /// Puts other bytes at the origin's path of a document.
    func put(_ document: [UInt8], at path: String) {
        origin.put(Content(document, type: "application/json"), at: path)
    }

    func tree(_ version: String) throws -> [String: String] {
        try readTree(device.path + "/versions/" + version)
    }

    func path(of text: String) throws -> String {
        "/" + OriginLayout.path(.object, try address(of: text))
    }

    func expectSecond(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try tree("2") == PublishingPlace.second, sourceLocation: sourceLocation)
        try expectClean(sourceLocation: sourceLocation)
    }

    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) throws {
        try device.expectClean(sourceLocation: sourceLocation)
    }
}

extension PullOptions {
    func with(_ set: (inout PullOptions) -> Void) -> PullOptions {
        var options = self
        set(&options)
        return options
    }
}

extension Pull {
    func release(at url: String) throws -> FoundRelease {
        let answer = try ask(url)
        guard case .release(let found) = answer else { return try require(nil, "\(answer)") }
        return found
    }
}

extension UpdateManager {
    /// The manager of an app over an origin's server, as a new process has it.
    static func pulling(
        from url: String, into device: TemporaryStore, _ options: UpdateOptions,
        _ pulling: PullOptions = PullingFixture.options, clock: ManualClock = ManualClock(),
        stallTimeout: Duration = .seconds(60)
    ) throws -> UpdateManager {
        let versions = try device.reopened()
        let source = PullSource(url, into: versions, for: options, pulling) {
            () throws(StoreError) in
            try PullingFixture.transport(stallTimeout: stallTimeout)
        }
        return UpdateManager(versions, source: source, options: options, clock: clock)
    }
}
