import OriginTestSupport

@testable import HotPush

/// Packs beside other pulls, half-copied origins, repairs.
@Suite("Packs") struct PackCompanyTests {
    @Test func `are fetched once for two pulls of one release at once`() throws {
        let fixture = try PackedFixture()
        let paths = try fixture.serve([fixture.whole("1")])
        let other = PullBeside(fixture.base.device.path, fixture.origin.url)
        fixture.origin.before(paths[0]) { _ in other.begin() }
        try fixture.run()
        expect(other.end() == nil)
        expect(fixture.asked.filter { $0 == paths[0] }.count, equals: 1)
        expect(!fixture.asked.contains { $0.hasPrefix("/objects/") })
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try fixture.base.expectClean()
    }

    @Test func `bring one release to two pulls at once`() throws {
        let fixture = try PackedFixture()
        let paths = try fixture.serve([fixture.whole("1")])
        let isFirst = Atomic<Bool>(true)
        let other = Mutex<StoreError.Code?>(nil)
        let (path, url) = (fixture.base.device.path, fixture.origin.url)
        fixture.origin.before(paths[0]) { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else { return }
            let found = code {
                let versions = try VersionStore.open(
                    path, options: StoreOptions(isDurable: false, waitLimit: .zero))
                _ = try Pull(
                    into: versions, over: PullingFixture.transport(), PullingFixture.options
                ).run(url)
            }
            other.withLock { $0 = found }
        }
        let pull = Pull(
            into: try fixture.base.device.reopened(),
            over: try PullingFixture.transport(stallTimeout: .seconds(300)), PullingFixture.options)
        try expect(pull.run(url)?.version, equals: "1")
        expect(other.withLock { $0 } == nil)
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try fixture.base.expectClean()
    }

    @Test(
        "that are half copied, shorter or longer than promised, are passed over",
        arguments: [-30, -1, 1])
    func halfCopied(_ more: Int) throws {
        let fixture = try PackedFixture()
        let path = try fixture.serve([fixture.whole("1")])[0]
        var bytes = try fixture.whole("1").made().bytes
        if more < 0 { bytes.removeLast(-more) } else { bytes += [0] }
        fixture.origin.put(Content(bytes), at: path)
        try fixture.run()
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try expect(fixture.fallbacks().count, equals: 1)
        try fixture.base.expectClean()
    }

    @Test(
        "are of no use beside objects that have not been copied: the pull fails, and ends when they have"
    )
    func withoutObjects() throws {
        let fixture = try PackedFixture()
        let path = try fixture.serve([fixture.whole("1")])[0]
        let all = fixture.origin.state.shared.withLock { $0.contents }
        fixture.origin.replaceAll(all.filter { !$0.key.hasPrefix("/objects/") && $0.key != path })
        expect(code { try fixture.run() } != nil)
        // The packs alone are enough.
        fixture.origin.replaceAll(all.filter { !$0.key.hasPrefix("/objects/") })
        try fixture.run()
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
    }

    @Test func `give a repair many objects by ranges, and any that the origin has lost`() throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        try fixture.run()
        let lost = NumberedObjects(of: try fixture.manifest("1")).references
            .filter { $0.byteCount > 0 }
        // A repair asks for what it finds lost.
        for one in lost {
            Damage.remove(
                fixture.base.device.path + "/objects/" + StoreLayout.objectPath(one.address))
        }
        fixture.origin.forgetRequests()
        let source = try fixture.base.repair().source(
            fixture.origin.url, at: .web(fixture.origin.url))
        try expect(source.objects(lost), equals: Set(lost.map(\.address)))
        expect(!fixture.asked.contains { $0.hasPrefix("/objects/") })
        // One alone is asked for by its address; what is not there comes out of the pack.
        let one = lost[0]
        Damage.remove(fixture.base.device.path + "/objects/" + StoreLayout.objectPath(one.address))
        fixture.origin.put(nil, at: "/" + OriginLayout.path(.object, one.address))
        fixture.origin.forgetRequests()
        try expect(source.objects([one]), equals: [one.address])
        expect(fixture.asked.first, equals: "/" + OriginLayout.path(.object, one.address))
        try expect(
            fixture.base.device.reopened().store.read(one.address, limit: 1 << 20),
            equals: fixture.contents()[one.address])
    }

    @Test("are not needed by a client that does not know them, nor missed by one that does")
    func otherTimes() throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        let bytes = fixture.origin.state.shared.withLock {
            $0.contents["/" + OriginLayout.pointer(.stable)]?.bytes
        }
        // What castree 0.1.0 reads of a release stands there as it stood before.
        let text = String(decoding: try require(bytes), as: UTF8.self)
        for key in ["content", "createdAt", "manifest", "manifestBytes", "sequence", "version"] {
            expect(text.contains("\"\(key)\":"))
        }
        expect(text.contains("\"castreeChannel\":1"))
        try fixture.base.serve()
        try fixture.run()
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        try expect(fixture.fallbacks(), equals: [])
    }
}
