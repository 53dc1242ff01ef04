import OriginTestSupport

/// What a publisher keeps to be quicker the next time never keeps a release from being published.
@Suite("A publisher whose frames cannot be kept") struct PackCacheTests {
    enum Problem: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case files = "a file in place of the directory"
        case directories = "directories in place of all its files"
        case refused = "files of somebody else that can be neither read nor replaced"
        var testDescription: String { rawValue }
    }

    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(3, scale: 10, publishing: "r1") }

    /// - Parameter sound: a publisher that has kept what the next release needs.
    private func cause(_ problem: Problem, as sound: PackingFixture) throws {
        let directory = fixture.place.origin + "/.publish/frames"
        switch problem {
        case .files:
            Damage.remove(directory)
            try Damage.overwriteOrCreate(directory, with: [1, 2, 3])
        case .directories:
            Damage.remove(directory)
            let names = sound.kept("frames")
            expect(!names.isEmpty)
            for name in names { try Damage.makeDirectory(directory + "/" + name + "/something") }
        case .refused: break
        }
    }

    @Test(
        "makes the same packs without them, says so once, and leaves nothing behind",
        arguments: Problem.allCases)
    func survives(_ problem: Problem) throws {
        let sound = try PackingFixture(copying: fixture, to: "sound")
        let expected = try require(try sound.publish("r2").packing)
        try cause(problem, as: sound)
        let notices = Notices()
        // Nobody may read or replace what is kept of earlier packing.
        let disk = FaultyFileSystem { operation in
            let isOthers =
                switch operation.verb {
                case .open: operation.access == .reading && ObjectID(operation.name) != nil
                case .rename:
                    operation.source?.contains("/frame-") == true
                        && !operation.name.hasPrefix("unkept-")
                default: false
                }
            return problem == .refused && isOthers
                ? StoreError(.permission, "it is somebody else's") : nil
        }
        let publisher = fixture.publisher(.before, on: disk) { $0.notice = notices.sink }
        let report = try require(try publisher.publish("r2", of: fixture.place.versions).packing)
        expect(report.packs, equals: expected.packs)
        try fixture.readAll(["r1"])
        let told = notices.all
        expect(told.filter { $0.hasPrefix(".publish/frames of the origin ") }.count, equals: 1)
        expect(!Damage.names(fixture.place.origin + "/.publish").contains { $0.hasPrefix("work-") })
        // The next release and the publisher's own cleaning, too.
        try fixture.publisher(.before, on: disk).publish("r3", of: fixture.place.versions)
        try fixture.readAll(["r1", "r2"])
        try fixture.place.publisher(on: disk).collect(
            OriginRetention(releaseCount: 1, graceSeconds: 0))
        try expect(fixture.place.read()?.version, equals: "r3")
    }
}
