import OriginTestSupport

@testable import HotPush
@testable import VersionTree

@Suite struct ObjectFetchTests {
    private func lost(_ texts: [String]) throws -> [Reference] {
        try texts.map { Reference(address: try address(of: $0), byteCount: Int64($0.utf8.count)) }
    }

    /// Three texts of the published version; the large one is kept in a file on its way.
    static let texts = [
        "<h1>two</h1>", "body {}", String(repeating: "0123456789abcdef", count: 40_000),
    ]

    @Test func `what is absent, wrong or cut short is left out, and the rest comes`() throws {
        let fixture = try PullingFixture(offering: "2")
        let wanted = try lost(Self.texts + ["never published"])
        try Damage.flip(
            fixture.place.origin + "/" + OriginLayout.path(.object, wanted[0].address), at: 2)
        try Damage.truncate(
            fixture.place.origin + "/" + OriginLayout.path(.object, wanted[2].address), to: 99)
        let options = PullingFixture.options.with { $0.retries.failureCountMax = 2 }
        let store = try fixture.device.reopened()
        let repair = OriginRepair(into: store, over: DirectoryTransport("/nowhere"), options)
        let came = try repair.restore(wanted, from: .directory(fixture.place.origin))
        expect(came, equals: [wanted[1].address])
        try expect(store.store.contains(wanted[0].address), equals: false)
        try fixture.serve()
        let again = try fixture.repair(options).restore(wanted, from: .web(fixture.origin.url))
        expect(again, equals: [wanted[1].address])
    }

    @Test func `a directory that is not there is no origin`() throws {
        let fixture = try PullingFixture()
        let repair = try fixture.repair()
        #expect(throws: StoreError.self) {
            try repair.restore(
                try lost(["text"]), from: .directory(fixture.device.directory.appending("none")))
        }
    }

    @Test(
        "a repair from where there is no origin says so in the words of a pull, and any origin will do",
        arguments: [true, false])
    func noOrigin(isDirectory: Bool) throws {
        let fixture = try PullingFixture()
        let path = fixture.device.directory.appending("not-an-origin")
        try Damage.makeDirectory(path)
        let origin = isDirectory ? path : fixture.origin.url
        let location: OriginLocation = isDirectory ? .directory(path) : .web(origin)
        let wanted = try lost(["never published"])
        let manifests = [LostManifest(version: "2", content: wanted[0].address)]
        func failures() throws -> [StoreError?] {
            let repair = try fixture.repair()
            // A directory is refused before anything is wanted of it.
            guard !isDirectory else {
                return [refusal { try repair.source(origin, at: location) }]
            }
            let source = try repair.source(origin, at: location)
            return [
                refusal { try source.objects(wanted) }, refusal { try source.manifests(manifests) },
            ]
        }
        let asked = refusal { try fixture.pull().ask(origin) }
        for found in try failures() {
            expect(found?.code, equals: .noOrigin)
            if !isDirectory { expect(found?.message, equals: asked?.message) }
        }
        guard !isDirectory else { return }
        // An origin that offers nothing yet, and one of another kind that cannot help, are there.
        fixture.put(Array("{\"castreeOrigin\":1}".utf8), at: "/origin.json")
        try expect(failures().allSatisfy { $0 == nil })
        fixture.origin.replaceAll(
            ["/__cordova/manifest.json": Content(Array("{}".utf8), type: "application/json")])
        try expect(failures().allSatisfy { $0 == nil })
    }
}
