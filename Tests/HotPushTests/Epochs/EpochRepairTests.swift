import OriginTestSupport

@testable import HotPush

/// `fsck --from` an origin with epochs: what the releases offered say of where objects stand.
@Suite("A repair from an origin with epochs") struct EpochRepairTests {
    /// Both releases in epochs, and a device that has release 2.
    private func pulled() throws -> (PullingFixture, EpochOrigin) {
        let fixture = try PullingFixture()
        try fixture.place.publish("1")
        try fixture.place.publish("2")
        var origin = try EpochOrigin(fixture.place)
        try origin.move("1", to: 3) { Int64($0 % 4) }
        try origin.move("2", to: 5) { [5, 4, 4, 5][$0] }
        origin.leaveEpochZero()
        origin.serve(at: fixture.origin)
        try fixture.run()
        fixture.origin.forgetRequests()
        return (fixture, origin)
    }

    private func source(_ fixture: PullingFixture) throws -> RepairSource {
        try fixture.repair().source(fixture.origin.url, at: .web(fixture.origin.url))
    }

    private func lose(_ lost: [Reference], _ fixture: PullingFixture) {
        for one in lost {
            Damage.remove(fixture.device.path + "/objects/" + StoreLayout.objectPath(one.address))
        }
    }

    @Test(arguments: [1, 3, 4], [true, false])
    func `fetches each object from where a release has it`(count: Int, isDirectory: Bool) throws {
        let (fixture, origin) = try pulled()
        let directory = fixture.device.directory.appending("bucket")
        try origin.write(to: directory)
        let lost = Array(NumberedObjects(of: try origin.manifest("2")).references.prefix(count))
        lose(lost, fixture)
        let source =
            try isDirectory
            ? fixture.repair().source(directory, at: .directory(directory))
            : self.source(fixture)
        try expect(source.objects(lost), equals: Set(lost.map(\.address)))
        for one in lost {
            try expect(fixture.device.reopened().store.contains(one.address))
        }
        if !isDirectory, count == 4 {
            // The manifest is here, so only its places are asked for.
            let asked = fixture.origin.requests.map(\.path)
            expect(!asked.contains { $0.contains("manifests/") })
            expect(asked.filter { $0.contains("objects/") }.count, equals: 4)
        }
    }

    @Test func `finds objects by the manifests of releases that the store does not have`() throws {
        let (fixture, origin) = try pulled()
        let wanted = NumberedObjects(of: try origin.manifest("1")).references
            .filter { $0.byteCount > 0 }
        let source = try source(fixture)
        lose(wanted, fixture)
        try expect(source.objects(wanted), equals: Set(wanted.map(\.address)))
    }

    @Test("fetches a manifest that was lost, and the received one that stands among the origin's")
    func manifests() throws {
        let (fixture, origin) = try pulled()
        let address = try require(origin.pointer.releases[0].version).manifest
        let bytes = try require(origin.files[OriginLayout.path(.manifest, address, in: 5)])
        let received = Reference(address: address, byteCount: Int64(bytes.count))
        lose([received], fixture)
        try expect(source(fixture).objects([received]), equals: [address])
        Damage.remove("\(fixture.device.path)/manifests/2.json")
        let report = try fixture.pull().versions.repair(
            from: source(fixture), proceeds: { _ in true })
        expect(!report.findings.contains { !$0.isRepaired }, "\(report.findings)")
        try fixture.expectSecond()
    }

    @Test func `leaves out what no release has, and what is gone from its epoch`() throws {
        let (fixture, origin) = try pulled()
        var lost = NumberedObjects(of: try origin.manifest("2")).references
        lose(lost, fixture)
        let gone = lost[0].address
        fixture.origin.put(nil, at: "/" + OriginLayout.path(.object, gone, in: 5))
        lost.append(Reference(address: try address(of: "never published"), byteCount: 15))
        try expect(source(fixture).objects(lost), equals: Set(lost[1...3].map(\.address)))
    }
}
