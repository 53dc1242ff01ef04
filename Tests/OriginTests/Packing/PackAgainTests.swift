import OriginTestSupport

@testable import Origin

@Suite("Packs of a release that has some") struct PackAgainTests {
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(4, scale: 10, publishing: "r1", "r2") }

    private func delivery() throws -> Delivery { try require(try fixture.reader.delivery()) }

    private func path(_ pack: Delivery.Pack) -> String {
        "\(fixture.place.origin)/\(OriginLayout.path(.pack, pack.address))"
    }

    @Test func `stay as they are when others are made, at whatever level`() throws {
        let before = try delivery().packs
        let disk = FaultyFileSystem()
        let more = try fixture.publisher(.before, on: disk) {
            $0.packs.level = 19
            $0.packs.baseVersions = ["r3"]
            $0.packs.contentCount = 0
        }.publish("r2", of: fixture.place.versions)
        expect(more.packing?.packs.map(\.version) == ["r3"] && !more.isUnchanged)
        let after = try delivery().packs
        expect(Array(after.prefix(2)) == before && after.count == 3)
        let staged = disk.operations.filter { $0.verb == .rename && $0.path.contains("/pack-") }
        expect(staged.count <= 1)
        try fixture.readAll(["r1", "r3"])
        // A base that is not given again keeps its pack, and nothing is to be done.
        let again = try fixture.publish("r2")
        expect(again.packing == nil && !again.writesPointer)
        try expect(delivery().packs, equals: after)
    }

    @Test func `are made again where one is missing, and only that one`() throws {
        let before = try delivery().packs
        Damage.remove(path(before[1]))
        let again = try fixture.publish("r2").packing
        expect(again?.packs.map(\.version) == ["r1"] && again?.keptPackCount == 1)
        expect(Set(try delivery().packs), equals: Set(before))
        try fixture.readAll(["r1"])
    }

    @Test
    func `are read by a publisher that verifies, and made again where they are wrong`() throws {
        let before = try delivery().packs
        for (damaged, version) in zip(before, [nil, "r1"]) {
            try Damage.flip(path(damaged), at: Int(damaged.byteCount) / 2)
            try expect(fixture.publisher().pack("r2", of: fixture.place.versions) == nil)
            let verifying = fixture.publisher { $0.verifiesObjects = true }
            let planned = try verifying.planPacks("r2", of: fixture.place.versions)
            expect(planned?.packs.map(\.version), equals: [version])
            let packed = try verifying.pack("r2", of: fixture.place.versions)
            expect(packed?.packs.map(\.version), equals: [version])
            try expect(ObjectID(of: Damage.contents(path(damaged))), equals: damaged.address)
            try expect(verifying.pack("r2", of: fixture.place.versions) == nil)
        }
        let published = try require(try fixture.pointer().releases[0].delivery)
        let document = "\(fixture.place.origin)/\(OriginLayout.path(.delivery, published.address))"
        try Damage.flip(document, at: 30)
        try fixture.publish("r2") { $0.verifiesObjects = true }
        try fixture.readAll(["r1"])
    }

    @Test func `a content that gave no pack is named, also when it is asked for again`() throws {
        try fixture.place.store.add("other", ["a.txt": PackingFixture.text(99, 5000)])
        let notices = Notices()
        let change: @Sendable (inout PublisherOptions) -> Void = {
            ($0.packs.baseVersions, $0.notice) = (["other"], notices.sink)
        }
        let report = try fixture.publish("r2", change).packing
        expect(report?.refusals.map(\.version) == ["other"] && report?.packs == [])
        let again = try fixture.publish("r2", change)
        expect(again.packing?.refusals == report?.refusals && again.packing?.packs == [])
        expect(!again.writesPointer)
        let publisher = fixture.publisher(.before, change)
        let versions = fixture.place.versions
        for report in [
            try publisher.plan("r2", of: versions).packing,
            try publisher.planPacks("r2", of: versions), try publisher.pack("r2", of: versions),
        ] {
            expect(report?.refusals.map(\.version) == ["other"] && report?.packs == [])
        }
        expect(
            notices.all.count { $0.hasPrefix("no pack is made from version other: ") }, equals: 5)
        // And where something else is to be done.
        try fixture.place.store.add("third", PackingFixture.files(3))
        for report in [
            try fixture.publisher { $0.packs.baseVersions = ["other", "third"] }
                .planPacks("r2", of: versions),
            try fixture.publish("r2") { $0.packs.baseVersions = ["other", "third"] }.packing,
        ] {
            expect(report?.packs.map(\.version), equals: ["third"])
            expect(report?.refusals.map(\.version), equals: ["other"])
        }
    }

    @Test("are read by a publisher that makes none and verifies, and what is wrong is said")
    func verifyWithoutPacks() throws {
        let notices = Notices()
        let steps = Mutex<[PublishProgress]>([])
        let publisher = fixture.publisher(.never) { options in
            options.verifiesObjects = true
            options.notice = notices.sink
            options.progress = { step in steps.withLock { $0.append(step) } }
        }
        let versions = fixture.place.versions
        let packs = try delivery().packs
        let pointer = try fixture.pointer()
        try expect(publisher.publish("r2", of: versions).isUnchanged)
        expect(notices.all, equals: [])
        // It read all packs, and all objects.
        let manifest = try fixture.manifest("r2")
        let totals = [
            packs.reduce(0) { $0 + $1.byteCount },
            NumberedObjects(of: manifest).references.reduce(0) { $0 + $1.byteCount },
        ]
        for total in totals {
            let told = steps.withLock { $0 }.filter { $0.bytesTotal == total }
            expect(told.allSatisfy { $0.step == .checking } && told.first?.bytes == 0)
            expect(told.map(\.bytes).max(), equals: total)
        }
        try Damage.flip(path(packs[1]), at: Int(packs[1].byteCount) / 2)
        _ = try publisher.plan("r2", of: versions)
        _ = try publisher.publish("r2", of: versions)
        let said = notices.all
        expect(said.count == 2 && said[0] == said[1])
        expect(said[0].hasPrefix("1 of 2 packs of version r2 is missing or damaged; "))
        let remedy = "castree pack r2 \(fixture.place.origin) --channel stable --verify"
        expect(said[0].contains(remedy))
        try expect(fixture.pointer(), equals: pointer)
        let published = try require(pointer.releases[0].delivery)
        Damage.remove("\(fixture.place.origin)/\(OriginLayout.path(.delivery, published.address))")
        _ = try publisher.publish("r2", of: versions)
        expect(notices.all.last?.hasPrefix("the delivery of version r2 is "), equals: true)
    }

    @Test func `are not read to the end by a publisher that is interrupted`() throws {
        let publisher = fixture.publisher {
            ($0.verifiesObjects, $0.isInterrupted) = (true, { true })
        }
        expectRefusal(.interrupted) { try publisher.planPacks("r2", of: fixture.place.versions) }
    }

    @Test func `progress is told before anything is compressed`() throws {
        let first = Mutex<PublishProgress?>(nil)
        try fixture.publish("r3") { options in
            options.progress = { step in first.withLock { $0 = $0 ?? step } }
        }
        let step = try require(first.withLock { $0 })
        expect(step.step == .packing && step.bytes == 0 && step.bytesTotal > 0)
    }

    @Test func `packs from contents that nobody lists go first where a delivery is full`() throws {
        func pack(_ number: Int) throws -> Delivery.Pack {
            let address = try ObjectID(of: Array("\(number)".utf8))
            return Delivery.Pack(
                address: address, byteCount: 1, openingByteCount: 1, objectCount: 1,
                contentByteCount: 1, base: number == 0 ? nil : address, codecs: [],
                memoryByteCount: 0)
        }
        let all = try (0..<70).map { try pack($0) }
        let wanted = Set(all[65...].compactMap(\.base))
        let listed = Set(all[10..<65].compactMap(\.base))
        expect(
            DeliveryDraft.fitting(Array(all.prefix(64)), wanted: [], listed: []).count, equals: 64)
        let kept = DeliveryDraft.fitting(all, wanted: wanted, listed: listed)
        expect(kept.count == 64 && kept[0] == all[0])
        expect(Set(kept).isSuperset(of: all[10...]))
    }
}
