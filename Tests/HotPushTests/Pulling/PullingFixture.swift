import CurlTransport
import StorageTestSupport

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

    /// One whose channel offers a version.
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
        var contents: [String: Content] = [:]
        for (path, bytes) in try (other ?? place).published() {
            let type = path.hasSuffix(".json") ? "application/json" : "application/octet-stream"
            contents["/" + path] = Content(bytes, type: type)
        }
        origin.replaceAll(contents)
    }

    static func transport(parallel: Int = 4) throws -> CurlTransport {
        var options = TransportOptions()
        options.parallelCount = parallel
        options.stallTimeout = .seconds(1)
        options.proxy = ""
        return try CurlTransport(options)
    }

    static var options: PullOptions {
        var options = PullOptions()
        options.retries.firstDelay = .milliseconds(1)
        options.retries.delayMax = .milliseconds(5)
        options.retries.retryAfterMax = .milliseconds(5)
        options.retries.failureCountMax = 3
        // However slow the machine is, the tests count requests.
        options.offerLifetime = .seconds(3600)
        return options
    }

    /// A new client, as a new process would have it.
    func pull(_ options: PullOptions = PullingFixture.options, parallel: Int = 4) throws -> Pull {
        Pull(into: try device.reopened(), over: try Self.transport(parallel: parallel), options)
    }

    /// The manager of an app that pulls, and shows what has come at its next start.
    func manager(_ options: PullOptions = PullingFixture.options) throws -> UpdateManager {
        var updating = UpdateOptions()
        updating.policy = .nextStart
        return try .pulling(from: origin.url, into: device, updating, options)
    }

    /// Pulls, and expects that something comes of it.
    @discardableResult
    func run(
        _ options: PullOptions = PullingFixture.options, parallel: Int = 4
    ) throws -> PullReport {
        try require(try pull(options, parallel: parallel).run(origin.url))
    }

    /// The tree of a version on the device: path to text.
    func tree(_ version: String) throws -> [String: String] {
        try readTree(device.path + "/versions/" + version)
    }

    /// Where the content of a text is at the origin.
    func path(of text: String) throws -> String {
        "/" + OriginLayout.path(.object, try address(of: text))
    }

    /// Expects that version 2 is there, whole.
    func expectSecond(sourceLocation: SourceLocation = #_sourceLocation) throws {
        #expect(try tree("2") == PublishingPlace.second, sourceLocation: sourceLocation)
        try expectClean(sourceLocation: sourceLocation)
    }

    func expectClean(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let findings = try device.reopened().check(CheckOptions(isDeep: true)).findings
        #expect(findings == [], sourceLocation: sourceLocation)
    }
}

extension Pull {
    /// The release that an origin offers; a test that has none ends.
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
            var options = TransportOptions()
            options.stallTimeout = stallTimeout
            options.proxy = ""
            return try CurlTransport(options)
        }
        return UpdateManager(versions, source: source, options: options, clock: clock)
    }
}
