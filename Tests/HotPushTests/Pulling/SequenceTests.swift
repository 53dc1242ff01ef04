import OriginTestSupport

@testable import HotPush

/// What a device remembers of a channel's pointers, and what nobody can make it remember.
@Suite("The sequence of a channel") struct SequenceTests {
    private let fixture: PullingFixture
    /// The clock of the device, where a test says it.
    private static let now: Int64 = 1_760_000_000
    private static let year: Int64 = 365 * 86_400
    private static let day: Int64 = 86_400

    init() throws {
        fixture = try PullingFixture()
        try fixture.publish("1")
    }

    private var path: String { "/" + OriginLayout.pointer(.stable) }

    /// Serves the published pointer with another sequence, and other releases if given.
    @discardableResult
    private func serve(_ sequence: Int64, isEmpty: Bool = false) throws -> ChannelPointer {
        let bytes = try require(try fixture.place.published()[OriginLayout.pointer(.stable)])
        var pointer = try ChannelPointer(parsing: bytes, of: .stable)
        pointer.sequence = sequence
        if isEmpty {
            pointer.releases = []
        } else {
            pointer.releases = [pointer.releases[0]]
            pointer.releases[0].sequence = sequence
        }
        fixture.put(pointer.serialized(), at: path)
        return pointer
    }

    private let options = PullingFixture.options.with { $0.now = { Self.now } }

    /// Asks, and obeys nothing, since what it is told is an older copy.
    private func expectOlderCopy() throws {
        let pull = try fixture.pull(options)
        let reply = try pull.inquire(fixture.origin.url)
        try expect(pull.obey(reply) == nil)
        expect(reply.isOlderCopy)
    }

    private func noted() throws -> Int64? {
        let file = fixture.device.path + "/channels.json"
        guard let data = FileManager.default.contents(atPath: file) else { return nil }
        return try JSONValue.parse(Array(data)).asObject?.first?.value.asInt64
    }

    @Test func `is remembered once the release is whole here`() throws {
        let sequence = try serve(Self.now + 5).sequence
        let pull = try fixture.pull(options)
        let reply = try pull.inquire(fixture.origin.url)
        try expect(noted() == nil, "asking is not obeying")
        _ = try pull.obey(reply)
        try expect(noted(), equals: sequence)
        // What is here is obeyed without a byte of it.
        try serve(Self.now + 6)
        try expect(fixture.run(options).isUnchanged)
        try expect(noted(), equals: Self.now + 6)
    }

    @Test func `is not remembered of what is refused, fails, or is only asked about`() throws {
        try serve(Self.now + 5)
        let asked = try fixture.pull(options.with { $0.isDryRun = true })
        var reply = try asked.inquire(fixture.origin.url)
        reply.answer = .nothing([])
        _ = try asked.obey(reply)
        try expect(noted() == nil)
        fixture.origin.always(.status(404), on: try fixture.path(of: "<h1>one</h1>"))
        expect(code { try fixture.run(options) } != nil)
        try expect(noted() == nil)
        fixture.origin.always(nil, on: try fixture.path(of: "<h1>one</h1>"))
        try fixture.place.publisher().publish(
            "2", of: fixture.place.versions,
            as: ReleaseOffer(requirements: [Requirement(kind: "minimumAppVersion", value: "9")]))
        try fixture.serve()
        try serve(Self.now + 9)
        try expect(fixture.pull(options).run(fixture.origin.url) == nil)
        try expect(noted() == nil)
    }

    @Test("without releases ends no updates: the next one comes, with the smaller sequence")
    func emptyAndAbsurd() throws {
        try serve(ChannelPointer.sequenceMax, isEmpty: true)
        try expect(fixture.pull(options).run(fixture.origin.url) == nil)
        try serve(Self.now + 100, isEmpty: true)
        try expect(fixture.pull(options).run(fixture.origin.url) == nil)
        try expect(noted() == nil)
        try serve(Self.now)
        try expect(fixture.run(options).version, equals: "1")
        try expect(noted(), equals: Self.now)
    }

    @Test(
        "is used and not remembered when it is more than a day ahead; more than a year, and it orders nothing"
    )
    func ahead() throws {
        // The version that comes is as old as the machine's clock says: it counts, too.
        let now = secondsNow()
        let options = options.with { $0.now = { now } }
        try serve(now + Self.year + 1000)
        try expect(fixture.run(options).version, equals: "1")
        try expect(noted() == nil)
        let manifest = try fixture.device.reopened().manifest(of: "1")
        expect(ReleaseTerms(of: manifest).order == nil)
        for ahead in [Self.year, Self.day + 1000] {
            try serve(now + ahead)
            try fixture.run(options)
            try expect(noted() == nil)
        }
        try serve(now + Self.day)
        try fixture.run(options)
        try expect(noted(), equals: now + Self.day)
    }

    @Test(
        "far ahead keeps a device from nothing that its publisher says next, and brings nothing older back that was noted",
        arguments: [3, 1000 * Self.day, secondsNow() - Self.day, secondsNow()],
        [
            Self.day + 1000, 359 * Self.day, 100 * Self.year,
            ChannelPointer.sequenceMax - 2 * Self.now,
        ])
    func onceAhead(clock: Int64, ahead: Int64) throws {
        let options = options.with { $0.now = { clock } }
        let now = secondsNow()
        for sequence in [now, now + ahead, now + 1] {
            try serve(sequence)
            let reply = try fixture.pull(options).inquire(fixture.origin.url)
            expect(!reply.isOlderCopy, "\(sequence - now)")
            try fixture.run(options)
        }
        try expect(noted(), equals: now + 1)
        try serve(now)
        try expect(fixture.pull(options).inquire(fixture.origin.url).isOlderCopy)
    }

    @Test("is remembered on a device whose clock begins in 1970, by the times that it has seen")
    func noClock() throws {
        let options = options.with { $0.now = { 3 } }
        // Nothing here tells a time yet: used all the same.
        try serve(Self.now)
        try fixture.run(options)
        // The version that came says when: the store's clock is right.
        try serve(Self.now + 1)
        try fixture.run(options)
        try expect(noted(), equals: Self.now + 1)
    }

    @Test func `that 0.1.0 remembered without a bound stops nothing`() throws {
        try fixture.run(options)
        let key = "\(fixture.origin.url) stable"
        try Data("{\"\(key)\":\(ChannelPointer.sequenceMax)}".utf8)
            .write(to: URL(filePath: fixture.device.path + "/channels.json"))
        try serve(Self.now)
        let pull = try fixture.pull(options)
        let reply = try pull.inquire(fixture.origin.url)
        try expect(pull.obey(reply)?.version, equals: "1")
        expect(!reply.isOlderCopy)
        try expect(noted(), equals: Self.now)
    }

    @Test func `is lowered by whoever insists, for good`() throws {
        try serve(Self.now + 500)
        try fixture.run(options)
        try serve(Self.now)
        try expectOlderCopy()
        let forced = options.with { $0.isForced = true }
        try fixture.run(forced)
        try expect(noted(), equals: Self.now)
        try expect(fixture.run(options).isUnchanged)
        // Also where the channel offers nothing just now.
        try serve(Self.now - 5, isEmpty: true)
        try expect(fixture.pull(forced).run(fixture.origin.url) == nil)
        try expect(noted(), equals: Self.now - 5)
    }

    @Test func `of a withdrawal is remembered when it takes back what waits`() throws {
        try fixture.run(options.with { $0.destination = .current })
        try fixture.publish("2")
        try serve(Self.now + 10)
        try fixture.run(options)
        try expect(fixture.device.reopened().lifecycle().pending, equals: "2")
        try serve(Self.now + 11, isEmpty: true)
        try expect(fixture.pull(options).run(fixture.origin.url) == nil)
        let lifecycle = try fixture.device.reopened().lifecycle()
        expect(lifecycle.pending == nil && lifecycle.current == "1")
        try expect(noted(), equals: Self.now + 11)
        // A cache that is behind does not bring it back.
        try serve(Self.now + 10)
        try expectOlderCopy()
        // Nothing was to be taken back by the next one.
        try serve(Self.now + 12, isEmpty: true)
        try expect(fixture.pull(options).run(fixture.origin.url) == nil)
        try expect(noted(), equals: Self.now + 11)
    }
}

@Suite("What is remembered of channels") struct SeenChannelsTests {
    private let device: TemporaryStore

    init() throws { device = try TemporaryStore() }

    private func seen() throws -> SeenSequences {
        let versions = try device.reopened()
        return SeenSequences(versions, bound: SequenceBound(versions, now: { 1_760_000_000 }))
    }

    private func observation(_ sequence: Int64, of origin: String) throws
        -> SeenSequences.Observation
    {
        SeenSequences.Observation(
            ChannelPointer(channel: .stable, sequence: sequence, createdAt: 0, releases: []),
            at: .web(origin))
    }

    private func note(_ sequence: Int64, of origin: String) throws {
        try seen().note(observation(sequence, of: origin), isLowering: false)
    }

    private func isKnown(_ origin: String) throws -> Bool {
        try seen().memory(of: observation(1, of: origin)).newer != nil
    }

    private var file: String { device.path + "/channels.json" }

    @Test func `is read again however long the names are: those noted longest ago go`() throws {
        let long = String(repeating: "x", count: 4000)
        for number in 0..<40 { try note(100, of: "https://example.org/\(long)/\(number)") }
        let size = try require(FileManager.default.contents(atPath: file)).count
        expect(size <= SeenSequences.byteCountMax)
        expect(size > SeenSequences.byteCountMax - 5000, "no more go than must")
        try expect(isKnown("https://example.org/\(long)/39"))
        try expect(isKnown("https://example.org/\(long)/30"))
        try expect(!isKnown("https://example.org/\(long)/0"))
        // A name that has no space pushes out nobody.
        try note(100, of: "https://example.org/" + String(repeating: "y", count: 60_000))
        try expect(isKnown("https://example.org/\(long)/39"))
    }

    @Test func `holds 64 channels; one that is in use stays though it has nothing new`() throws {
        for number in 0..<SeenSequences.countMax { try note(100, of: "https://h/\(number)") }
        try note(100, of: "https://h/0")
        try note(100, of: "https://h/new")
        try expect(isKnown("https://h/0") && isKnown("https://h/new"))
        try expect(!isKnown("https://h/1"))
        try expect(isKnown("https://h/2"))
    }

    @Test("that 0.1.0 let grow beyond its own limit is read, and shortened by the next change")
    func grown() throws {
        let long = String(repeating: "x", count: 4000)
        let members = (0..<64).map {
            JSONValue.Member(key: "https://h/\(long)/\($0) stable", value: .integer(100))
        }
        try Data(JSONWriter.serialize(.object(members), sortedKeys: false))
            .write(to: URL(filePath: file))
        try expect(isKnown("https://h/\(long)/0"))
        try note(200, of: "https://h/\(long)/0")
        try expect(
            require(FileManager.default.contents(atPath: file)).count
                <= SeenSequences.byteCountMax)
        try expect(
            seen().memory(of: observation(150, of: "https://h/\(long)/0")).newer, equals: 200)
        try expect(isKnown("https://h/\(long)/63"))
    }

    @Test func `is made anew where it is damaged, or larger than castree ever wrote it`() throws {
        for text in ["{", "[]", String(repeating: " ", count: SeenSequences.readByteCountMax + 1)] {
            try Data(text.utf8).write(to: URL(filePath: file))
            try expect(!isKnown("https://h/a"))
            try note(100, of: "https://h/a")
            try expect(isKnown("https://h/a"))
        }
    }
}
