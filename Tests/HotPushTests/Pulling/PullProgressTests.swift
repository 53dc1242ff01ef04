import OriginTestSupport

@testable import HotPush

/// A progress bar is believed: it never shows more than all, and in the end all.
@Suite("The progress of a pull", .timeLimit(.minutes(60))) struct PullProgressTests {
    private final class Told: Sendable {
        private let list = Mutex<[UpdateProgress]>([])
        func add(_ progress: UpdateProgress) { list.withLock { $0.append(progress) } }
        var all: [UpdateProgress] { list.withLock { $0 } }

        func expectSound(sourceLocation: SourceLocation = #_sourceLocation) {
            for one in all {
                #expect(
                    one.bytes <= one.bytesTotal && one.figures.files <= one.filesTotal
                        && one.figures.resumedBytes <= one.bytes, sourceLocation: sourceLocation)
            }
            #expect(all.last?.bytes == all.last?.bytesTotal, sourceLocation: sourceLocation)
            #expect(all.last?.figures.files == all.last?.filesTotal, sourceLocation: sourceLocation)
            #expect(all.last?.bytesTotal ?? 0 > 0, sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [
        [Fault.wrongBytes], [.cut(after: 300_000), .wrongBytes], [.wrongBytes, .wrongBytes],
        [.cut(after: 300_000), .ignoreRange], [.cut(after: 300_000), .anonymousRange],
        [.announce(more: 50)], [.cut(after: 300_000), .shiftRange(by: -10)], [.gzip],
    ])
    func `is the release's bytes in the end, whatever went wrong`(_ faults: [Fault]) throws {
        let fixture = try PullingFixture(offering: "2")
        fixture.origin.play(faults, on: try fixture.path(of: PullFaultTests.large))
        let told = Told()
        try fixture.run(parallel: 1) { $0.progress = { told.add($0) } }
        told.expectSound()
        let sizes = Set(PublishingPlace.second.values).reduce(0) { $0 + $1.utf8.count }
        expect(told.all.last?.bytesTotal, equals: Int64(sizes))
    }

    @Test func `takes back what an earlier pull had staged if it turns out wrong`() throws {
        let fixture = try PullingFixture(offering: "2")
        let path = try fixture.path(of: PullFaultTests.large)
        fixture.origin.play([.cut(after: 320_000), .status(404)], on: path)
        expectRefusal(.notFound) { try fixture.run(parallel: 1) }
        fixture.origin.play([.wrongBytes], on: path)
        let told = Told()
        try fixture.run { $0.progress = { told.add($0) } }
        told.expectSound()
        expect(told.all.last?.figures.resumedBytes, equals: 0)
    }

    @Test
    func `counts files whose size the format does not tell, in what is done and in all`() throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1/"
        try place.serve(release)
        let told = Told()
        let report = try place.pull(MeteorPlace.options.with { $0.progress = { told.add($0) } })
        told.expectSound()
        expect(told.all.last?.bytes, equals: report.figures.bytes)
        expect(told.all.last?.figures.files, equals: report.figures.files)
    }

    @Test func `leaves out an optional file that the origin does not have`() throws {
        let place = try MeteorPlace()
        var release = ServedMeteor(2)
        release.rootURL = "http://127.0.0.1/"
        try place.serve(release)
        for file in release.files where file.map != nil {
            place.origin.put(nil, at: "/__cordova" + (try release.mapURL(file)))
        }
        let told = Told()
        let options = MeteorPlace.options.with { $0.progress = { told.add($0) } }
        try expect(place.pull(options).skipped.count, equals: 4)
        told.expectSound()
    }
}
