import OriginTestSupport

@Suite("A publisher of packs") struct PackPublishingTests {
    @Test(
        "makes a pack of everything, from which the release comes byte for byte", arguments: places)
    func whole(_ kind: OriginPlace) throws {
        let fixture = try PackingFixture(in: kind, publishing: "r1")
        let packs = try fixture.readAll([])
        expect(packs.count, equals: 1)
        let (_, pack) = try require(packs[""])
        let manifest = try fixture.manifest("r1")
        try expect(pack.manifest, equals: manifest.serialized())
        expect(Set(pack.objects.keys), equals: Set(manifest.entries.map(\.address)))
        try expect(fixture.place.read()?.files, equals: PackingFixture.files(1))
    }

    @Test(
        "makes a pack from the release before, of what that is missing, whatever its files are called",
        arguments: places)
    func fromTheOneBefore(_ kind: OriginPlace) throws {
        let fixture = try PackingFixture(in: kind, publishing: "r1", "r2")
        let packs = try fixture.readAll(["r1"])
        expect(Set(packs.keys), equals: ["", "r1"])
        let (described, pack) = try require(packs["r1"])
        let (old, new) = (try fixture.manifest("r1"), try fixture.manifest("r2"))
        try expect(pack.manifest, equals: new.serialized())
        let lacking = Set(new.entries.map(\.address)).subtracting(old.entries.map(\.address))
        expect(Set(pack.objects.keys), equals: lacking)
        expect(lacking.count, equals: 8)
        // 210 KB of text that cannot be compressed, and a few bytes of it are new.
        expect(described.byteCount < 2000)
        expect(described.codecs, equals: [2])
    }
}
