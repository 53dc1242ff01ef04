import OriginTestSupport

@testable import Origin

/// Where everybody may write who can reach the place, and only some channels are signed: docs/buckets.md, "Signed channels".
@Suite("A stranger with channels of their own") struct StrangersCapacityTests {
    /// The pointer of a channel without a signature, for the next entry.
    private func pointer(
        _ channel: String, _ people: SignedPlace, _ change: (inout ChannelPointer) -> Void
    ) throws -> ChannelPointer {
        let state = try people.state()
        var pointer = try require(state.pointers[.stable])
        (pointer.channel, pointer.log) = (try ChannelName(channel), state.number + 1)
        (pointer.signatures, pointer.origin) = ([], nil)
        change(&pointer)
        return pointer
    }

    private static let space = 64 << 10

    /// What devices, auditors and publishers without a key read, and what somebody reads who has one.
    private func logs(
        _ people: SignedPlace, _ signing: PointerSigning, _ notices: Notices = Notices()
    ) throws -> (plain: OriginLog, keyed: OriginLog) {
        let storage = try people.place.storage()
        return (
            OriginLog(storage, pointerByteCountMax: Self.space),
            OriginLog(
                storage,
                trusts: { (seal) throws(StoreError) in
                    try signing.verifies(seal, of: nil)
                }, notice: notices.sink, pointerByteCountMax: Self.space)
        )
    }

    @Test(
        "takes no space from those whose keys can tell, and counts no further than there is some",
        arguments: [false, true])
    func space(_ saysSigned: Bool) throws {
        let (people, notices) = (try SignedPlace(signed: "1"), Notices())
        let alice = try people.signing(people.alice)
        let start = try people.state()
        let signed = try people.pointer()
        let filler = JSONValue.string(String(repeating: "x", count: 10_000))
        // Who says that it is signed has twice the space; 10 KiB more than that are too much for each.
        let (count, capacity) = saysSigned ? (14, 12) : (8, 6)
        for number in 1...count {
            try people.append(
                try pointer("c\(number)", people) {
                    ($0.releases, $0.foreign) = ([], [.init(key: "x", value: filler)])
                    if saysSigned {
                        ($0.signatures, $0.origin) = (signed.signatures, signed.origin)
                    }
                })
        }
        let (plain, keyed) = try logs(people, alice, notices)
        let state = try require(try keyed.state(from: 0))
        expect(state.number == start.number + Int64(count))
        expect(state.pointers.count, equals: capacity + 1)
        expect(Set(state.pointers.keys), equals: Set(state.entry.channels.keys))
        let isSaid = notices.all.contains { $0.contains("too many bytes together") }
        expect(isSaid, "\(notices.all)")
        // They have used all of it, and somebody with a key continues.
        var own = try require(state.pointers[.stable])
        func grow(by count: Int) {
            own.foreign = [
                .init(key: "x", value: .string(String(repeating: "x", count: count)))
            ]
        }
        grow(by: 20_000)
        #expect(throws: Never.self) { try LogCommit.checkSpace(for: own, upon: state, keyed) }
        var unsigned = own
        unsigned.signatures = []
        expectRefusal(.tooLarge) { try LogCommit.checkSpace(for: unsigned, upon: state, plain) }
        var entry = try LogEntry(after: state, .publish, now: own.createdAt)
        own.log = state.number + 1
        own = try alice.sign(own, now: own.createdAt)
        (entry.channels[.stable], entry.pointers[.stable]) = (state.number + 1, own)
        try people.place.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
        let (_, next) = try logs(people, alice)
        let after = try require(try next.state(from: 0))
        expect(after.number == state.number + 1 && after.pointers[.stable] == own)
        try expect(next.liveReleases(keptFrom: 1, upTo: after), equals: own.liveReleases)
        // What is their own has a limit, too.
        grow(by: 2 * Self.space)
        expectRefusal(.tooLarge) { try LogCommit.checkSpace(for: own, upon: after, next) }
    }

    @Test(
        "keeps nobody with a key from pruning by an offer whose manifest is not there, and nothing goes that it may need",
        arguments: places)
    func missingManifest(_ kind: OriginPlace) throws {
        let (people, notices) = (try SignedPlace(kind, signed: "1", "2"), Notices())
        let alice = try people.signing(people.alice)
        let (name, address) = (try VersionName("evil"), try ObjectID(of: [1]))
        let evil = try pointer("evil", people) { pointer in
            pointer.releases = [
                ChannelRelease(
                    .version(
                        PublishedVersion(
                            name: name, manifest: address, manifestByteCount: 9,
                            content: address)),
                    sequence: pointer.sequence, createdAt: pointer.createdAt)
            ]
        }
        try people.append(evil)
        func prune(_ signing: PointerSigning) throws -> PruneReport {
            people.place.clock.advance(86_400)
            return try people.publisher(signing, notices: notices).collect(
                OriginRetention(releaseCount: 1, graceSeconds: 0))
        }
        func objects() throws -> [String] {
            try people.place.published().keys.filter {
                $0.contains("objects/") || $0.contains("manifests/")
            }.sorted()
        }
        let before = try objects()
        // Nobody can tell whose channel it is.
        expectRefusal(.damagedOrigin, saying: "evil") { try prune(PointerSigning()) }
        for count in [1, 0, 0] {
            try expect(prune(alice).trimmedCount, equals: count)
            try expect(objects(), equals: before)
            try expect(people.place.offered() == ["2"])
        }
        let isSaid = notices.all.contains { $0.contains("evil") && $0.contains("until then") }
        expect(isSaid, "\(notices.all)")
        // It is taken back, or it was somebody's whose files were lost and are there again.
        let adopting = try people.signing(people.alice) { $0.adopts = true }
        _ = try people.publisher(adopting).withdraw(name, from: evil.channel)
        for _ in 1...4 { _ = try prune(alice) }
        let after = try objects()
        expect(after.count < before.count)
        _ = try people.place.files(of: try require(people.pointer().liveReleases.first?.version))
    }

    @Test("is told from a channel of one's own, whose loss stops a prune", arguments: places)
    func ownManifest(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind, signed: "1", "2")
        let alice = try people.signing(people.alice)
        let version = try require(people.pointer().liveReleases.first?.version)
        let lost = OriginKey(.manifest, version.manifest, in: version.epoch).path
        try people.place.set(lost, nil)
        // Somebody offers the same in another channel.
        try people.append(try pointer("evil", people) { _ in })
        let before = try people.place.published()
        expectRefusal(.damagedOrigin) {
            try people.publisher(alice).collect(
                OriginRetention(releaseCount: 1, graceSeconds: 0))
        }
        let after = try people.place.published()
        expect(Set(before.keys).isSubset(of: after.keys))
    }
}
