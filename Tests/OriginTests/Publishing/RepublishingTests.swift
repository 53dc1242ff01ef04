import OriginTestSupport

@Suite("A version that was pulled") struct RepublishingTests {
    @Test func `can be published again, and pulled from there`() throws {
        let place = try PublishingPlace(offering: "1")
        let mirror = try TemporaryStore()
        _ = try require(
            try Pull(into: mirror.versions, over: DirectoryTransport(place.origin))
                .run(place.origin))
        let second = mirror.directory.appending("origin")
        try Publisher(second).publish("1", of: mirror.versions)

        let device = try TemporaryStore()
        _ = try require(
            try Pull(into: device.versions, over: DirectoryTransport(second)).run(second))
        try expect(readTree(device.path + "/versions/1"), equals: PublishingPlace.first)
        try expect(device.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
        let terms = try device.versions.manifest(of: "1").foreign.filter { $0.key == "terms" }
        expect(terms.count, equals: 1)
    }
}
