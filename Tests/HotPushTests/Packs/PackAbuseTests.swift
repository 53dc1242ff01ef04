import OriginTestSupport

@testable import HotPush

/// What an origin, or a cache before it, may do with packs: it costs a device little, and keeps nothing away.
@Suite("An abusive origin of packs") struct PackAbuseTests {
    private func deliver(_ fixture: PackedFixture, _ change: (inout Delivery) -> Void) throws {
        try fixture.serve([fixture.whole("1")]) { bytes in
            let pointer = try? DirectoryOrigin(fixture.base.place.origin).pointer(.stable)
            guard let version = pointer?.releases[0].version,
                var delivery = try? Delivery(parsing: bytes, of: version)
            else { return }
            change(&delivery)
            bytes = delivery.serialized()
        }
    }

    @Test
    func `that lies about a pack's beginning gets no more read than a beginning may have`() throws {
        let fixture = try PackedFixture()
        try deliver(fixture) { delivery in
            delivery.packs[0].byteCount = 600 << 20
            delivery.packs[0].openingByteCount = 600 << 20
            delivery.packs[0].contentByteCount = 700 << 20
        }
        try fixture.run()
        expect(!fixture.asked.contains { $0.hasPrefix("/packs/") })
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
    }

    @Test func `with many useless packs has two of them tried`() throws {
        let fixture = try PackedFixture()
        var packs: [TestPack] = []
        for number in 0..<12 {
            var pack = try fixture.whole("1", perFrame: 1)
            pack.frames[1].bytes = try TestPack.encode([UInt8(number)] + pack.frames[1].content)
            packs.append(pack)
        }
        try fixture.serve(packs)
        try fixture.run()
        expect(Set(fixture.asked.filter { $0.hasPrefix("/packs/") }).count, equals: 2)
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        expect(Damage.names(fixture.base.device.path + "/staging"), equals: [])
    }

    @Test(
        "whose packs come a byte at a time, or never, soon has objects asked for",
        arguments: [true, false])
    func trickle(_ isByByte: Bool) throws {
        let fixture = try PackedFixture()
        let path = try fixture.serve([fixture.whole("1")])[0]
        fixture.origin.always(isByByte ? .cut(after: 1) : .status(503, retryAfter: "0"), on: path)
        try fixture.run()
        expect(fixture.origin.requests(for: path).count < 40)
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
        expect(Damage.names(fixture.base.device.path + "/staging"), equals: [])
    }

    @Test(
        "whose delivery is promised for later soon has objects asked for",
        arguments: [408, 425, 429, 500, 502, 503, 504])
    func laterDelivery(_ status: Int) throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        let path = try fixture.deliveryPath()
        fixture.origin.always(.status(status, retryAfter: "3600"), on: path)
        try fixture.run { $0.retries.failureCountMax = 100 }
        expect(fixture.origin.requests(for: path).count, equals: 4)
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
    }

    @Test func `that has no space beside what comes out of a pack leaves space for objects`() throws
    {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        let error = StoreError(.outOfSpace, "full")
        let pack = try fixture.whole("1").made().pack
        let version = try require(
            try DirectoryOrigin(fixture.base.place.origin).pointer(.stable)?.releases[0].version)
        let transfer = PackTransfer(
            pack, at: "http://origin/p", to: version, from: nil, asksForWhole: true,
            into: try IncomingContents(fixture.base.device.reopened().store),
            limits: .foreign(entryCountMax: 100), budget: RetryBudget(),
            isInterrupted: { false }
        ) { _ in nil }
        transfer.fail(error)
        expect(
            transfer.isUseless && transfer.failure == nil && transfer.problem?.code == .outOfSpace)
        transfer.fail(StoreError(.io, "broken"))
        expect(transfer.failure?.code, equals: .io)
    }

    @Test(arguments: [
        "*", #""a", "b""#, "a", #""a"#, #"W/*"#, #""a b""#, "\"\u{7F}\"",
        String(repeating: "x", count: 9000),
    ])
    func `that sends tags which match anything has none of them kept`(_ tag: String) throws {
        expect(
            TransferHead(status: 200, fields: [("etag", tag)], url: "").tag == nil
        )
    }

    @Test func `whose tags are of a file's second has them kept when that second is over`() throws {
        let date = "Sun, 06 Nov 1994 08:49:37 GMT"
        let later = "Sun, 06 Nov 1994 08:49:41 GMT"
        func tag(_ sent: String?) -> String? {
            var fields = [("etag", "\"5f-1\""), ("last-modified", date)]
            if let sent { fields.append(("date", sent)) }
            return TransferHead(status: 200, fields: fields, url: "").tag
        }
        expect(tag(date) == nil)
        expect(tag(nil) == nil)
        expect(tag(later), equals: "\"5f-1\"")
    }

    @Test func `is asked without a condition after an hour, and by who insists`() throws {
        let fixture = try PackedFixture()
        try fixture.serve([fixture.whole("1")])
        try fixture.run()
        for (change, isConditional) in [
            ({ _ in }, true), ({ $0.isForced = true }, false),
            ({ $0.now = { secondsNow() + 3700 } }, false),
        ] as [((inout PullOptions) -> Void, Bool)] {
            fixture.origin.forgetRequests()
            try fixture.run(change)
            expect((fixture.origin.requests[0]["if-none-match"] != nil), equals: isConditional)
        }
    }

    @Test func `with sizes near the end of all numbers ends no program`() {
        for value: Int64 in [.max, .max / 2, ChannelPointer.sequenceMax] {
            expect(PackLimits.frameByteCountMax(ofContent: value) >= value)
            expect(PackLimits.packByteCountMax(ofContent: value) > 0)
            expect(PackLimits.openingByteCountMax(ofManifest: value) > 0)
        }
    }

    @Test(arguments: [
        #""delivery":"abc","deliveryBytes":5"#, #""delivery":5"#, #""deliveryBytes":5"#,
    ])
    func `whose pointer says nothing right of its packs costs only these`(_ fields: String) throws {
        let fixture = try PackedFixture()
        let path = "/" + OriginLayout.pointer(.stable)
        let bytes = try require(
            try DirectoryOrigin(fixture.base.place.origin).pointer(.stable)?.serialized())
        let text = String(decoding: bytes, as: UTF8.self)
            .replacingOccurrences(of: "\"manifest\":", with: fields + ",\"manifest\":")
        fixture.base.put(Array(text.utf8), at: path)
        try fixture.run()
        try expect(fixture.base.tree("1"), equals: PublishingPlace.first)
    }
}
