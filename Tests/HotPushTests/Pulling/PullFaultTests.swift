import OriginTestSupport

/// A network as it is: the version comes whole or not at all, and what came stays.
@Suite("A pull over a bad network") struct PullFaultTests {
    static let large = String(repeating: "0123456789abcdef", count: 40_000)
    static var byteCount: Int { large.utf8.count }

    private func fixture() throws -> (PullingFixture, path: String) {
        let fixture = try PullingFixture(offering: "2")
        return (fixture, try fixture.path(of: Self.large))
    }

    @Test(arguments: 0..<10)
    func `continues where a file was cut, at every tenth`(_ tenth: Int) throws {
        let (fixture, path) = try fixture()
        let count = Self.byteCount * tenth / 10
        fixture.origin.play([.cut(after: count)], on: path)
        let report = try fixture.run()
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
        let requests = fixture.origin.requests(for: path)
        expect(requests.count, equals: 2)
        expect(requests.last?["range"], equals: (count > 0 ? "bytes=\(count)-" : nil))
        let sizes = Set(PublishingPlace.second.values).reduce(0) { $0 + $1.utf8.count }
        expect(report.figures.bytes, equals: Int64(sizes))
        try fixture.expectClean()
    }

    @Test(
        "continues in another process where the first one stopped, at every tenth",
        arguments: 1..<10)
    func cutAcrossProcesses(_ tenth: Int) throws {
        let (fixture, path) = try fixture()
        let count = Self.byteCount * tenth / 10
        fixture.origin.play([.cut(after: count)], on: path)
        fixture.origin.play([.status(404)], on: path)
        expectRefusal(.notFound) { try fixture.run(parallel: 1) }
        try expect(fixture.device.reopened().versions().map(\.state), equals: [.incomplete])
        try expect(fixture.device.reopened().lifecycle().pending == nil)
        fixture.origin.forgetRequests()
        let report = try fixture.run()
        expect(report.figures.resumedBytes, equals: Int64(count))
        expect(fixture.askedObjects, equals: [path])
        expect(fixture.origin.requests(for: path).first?["range"], equals: "bytes=\(count)-")
        expect(report.figures.bytes, equals: Int64(Self.byteCount - count))
        try fixture.expectSecond()
    }

    @Test(
        "says that nothing was kept where what an earlier pull had left must come again",
        arguments: [Fault.ignoreRange, .anonymousRange, .wrongBytes])
    func useless(_ fault: Fault) throws {
        let (fixture, path) = try fixture()
        fixture.origin.play([.cut(after: 300_000), .status(404)], on: path)
        expectRefusal(.notFound) { try fixture.run(parallel: 1) }
        fixture.origin.play([fault], on: path)
        let report = try fixture.run()
        expect(report.figures.resumedBytes, equals: 0)
        expect(report.figures.bytes >= Int64(Self.byteCount))
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }

    @Test(arguments: [
        Fault.hangUp(), .hangUp(.reset), .stall(after: 100_000), .announce(more: 50),
        .announce(more: -50), .wrongBytes, .gzip, .ignoreRange, .status(500), .status(503),
        .status(429, retryAfter: "1"), .cut(after: 70_000, .reset), .silence,
    ])
    func `ends right after a fault that passes`(_ fault: Fault) throws {
        let (fixture, path) = try fixture()
        fixture.origin.play([fault], on: path)
        try fixture.run()
        try fixture.expectSecond()
    }

    @Test(
        "ends right after the answer to a request for the rest was of no use",
        arguments: [
            Fault.ignoreRange, .shiftRange(by: 10), .shiftRange(by: -10), .total("17"),
            .anonymousRange, .multipart, .unsatisfiable(total: nil),
            .unsatisfiable(total: 640_000), .unsatisfiable(total: 5), .wrongBytes, .gzip,
        ])
    func resuming(_ fault: Fault) throws {
        let (fixture, path) = try fixture()
        fixture.origin.play([.cut(after: 300_000), fault], on: path)
        try fixture.run()
        try fixture.expectSecond()
    }

    @Test(
        "ends with a clear error when a fault lasts, and the version is not visible",
        arguments: [
            (Fault.status(404), StoreError.Code.notFound), (.status(403), .notFound),
            (.wrongBytes, .mismatch), (.page, .mismatch), (.gzip, .network),
            (.status(500), .network), (.hangUp(), .network), (.announce(more: 9), .mismatch),
        ])
    func lasting(_ fault: Fault, _ expected: StoreError.Code) throws {
        let (fixture, path) = try fixture()
        fixture.origin.always(fault, on: path)
        expect(code { try fixture.run() }, equals: expected)
        let versions = try fixture.device.reopened()
        try expect(versions.versions().map(\.state), equals: [.incomplete])
        try expect(versions.lifecycle().pending == nil)
        expectRefusal(.incompleteVersion) { try versions.activate("2") }
        fixture.origin.always(nil, on: path)
        try fixture.run()
        try fixture.expectSecond()
    }

    @Test func `continues when the server comes back`() throws {
        let (fixture, path) = try fixture()
        let origin = fixture.origin
        let isClosed = InterruptionFlag()
        origin.before(path) { _ in
            if isClosed.isSet { return }
            isClosed.set()
            origin.close()
            Thread.detachNewThread {
                Thread.sleep(forTimeInterval: 0.2)
                try? origin.reopen()
            }
        }
        origin.play([.hangUp()], on: path)
        let report = try fixture.run {
            $0.retries.failureCountMax = 1000
            $0.retries.pullFailureCountMax = 100_000
            $0.retries.delayMax = .milliseconds(50)
        }
        expect(report.version, equals: "2")
        try expect(fixture.tree("2"), equals: PublishingPlace.second)
    }
}

/// Set once, seen by every thread.
final class InterruptionFlag: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}
