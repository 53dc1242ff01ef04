import CurlTransport
import OriginTestSupport

/// Whatever happens to the device's disk in the middle of a pull: no half version is shown, and the
/// next pull ends it.
@Suite("A pull on a failing disk", .serialized) struct PullCrashTests {
    private let place: PublishingPlace
    private let newer: PublishingPlace
    private let packed: PublishingPlace
    private let directory = TemporaryDirectory()
    private static let storeOptions = StoreOptions(isDurable: false, reservedByteCount: 1 << 20)

    init() throws {
        place = try PublishingPlace()
        newer = place.withOrigin("newer")
        try place.publish("1")
        try newer.publish("2")
        packed = place.withOrigin("packed")
        for version in ["1", "2"] {
            try packed.publisher(packs: .before).publish(version, of: packed.versions)
        }
    }

    @discardableResult
    private func pull(_ versions: VersionStore, _ origin: String) throws -> PullReport? {
        let options = PullingFixture.options.with { $0.destination = .current }
        return try Pull(into: versions, over: try CurlTransport(), options).run(origin)
    }

    /// Pulls version 2 into a store that shows version 1, on a disk with that fault.
    /// - Returns: whether the fault was reached.
    private func survive(_ fault: FaultyFileSystem.Fault, _ newer: PublishingPlace) throws -> Bool {
        let path = directory.appending("store")
        defer { Damage.remove(path) }
        let disk = FaultyFileSystem()
        let versions = try VersionStore.create(
            at: path, options: Self.storeOptions, fileSystem: disk)
        try pull(versions, place.origin)
        disk.arm(fault)
        let failure = code { try pull(versions, newer.origin) }
        let hasFired = disk.hasFired
        let comment: Comment =
            "\(newer.origin): \(fault) at \(disk.firedAt?.description ?? "the end"): \(failure.map { "\($0)" } ?? "")"
        disk.disarm()
        let again = try VersionStore.open(path, options: Self.storeOptions)
        let shown = try again.lifecycle().current
        expect(shown == "1" || shown == "2", comment)
        if failure == nil { expect(shown, equals: "2", comment) }
        try expect(
            readTree(path + "/versions/" + (shown ?? "")),
            equals: (shown == "2" ? PublishingPlace.second : PublishingPlace.first), comment)
        // The next pull ends it, whatever is left of this one.
        try pull(again, newer.origin)
        try expect(again.lifecycle().current, equals: "2", comment)
        try expect(readTree(path + "/versions/2"), equals: PublishingPlace.second, comment)
        // Also what the publisher sent.
        try expect(again.manifest(of: "2").received != nil, comment)
        try again.collect()
        let findings = try again.check(CheckOptions(isDeep: true)).findings
        expect(findings, equals: [], "\(comment): \(findings.map(\.message))")
        return hasFired
    }

    /// What happens, at how many points at least, and the fault at each of them.
    private static let problems: [(String, Int, @Sendable (Int) -> FaultyFileSystem.Fault)] = [
        ("it was killed at any call", 50, { .stop(after: $0) }),
        ("any call failed once", 50, { .fail(EIO, at: $0 + 1) }),
        (
            "the disk was full for a moment", 5,
            { .fail(ENOSPC, at: $0 + 1, of: FaultyFileSystem.Verb.allocating) }
        ),
        ("a torn write", 2, { .tear(ENOSPC, at: $0 + 1) }),
    ]

    @Test("is repeated to its end after", arguments: problems)
    func repeated(
        after problem: String, least: Int, _ fault: @Sendable (Int) -> FaultyFileSystem.Fault
    ) throws {
        for newer in [newer, packed] {
            let count = try TestShare(oneIn: 20, of: "\(problem) \(newer.origin)").count {
                try survive(fault($0), newer)
            }
            expect(count > least, "\(newer.origin)")
        }
    }
}
