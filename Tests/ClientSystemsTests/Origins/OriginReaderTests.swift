import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

@Suite struct OriginReaderTests {
    private let place: ServedPlace

    init() throws { place = try ServedPlace() }

    private func answers(_ reader: OriginReader) -> OriginAnswers {
        OriginAnswers(reader, feeds: [GreedyFeed.self, ModelFeed.self])
    }

    @Test func `what was read counts until its file changes, and only who may read does`() throws {
        try place.publish("1", ["a": "one"])
        let answers = answers(OriginReader(try place.origin()))
        func expectTold(_ text: String, _ check: String = ModelFeed.check) throws {
            expectRefusal(.unread) { try answers.text(check, mayRead: false) }
            for mayRead in [true, false] {
                try expect(answers.text(check, mayRead: mayRead), equals: text)
            }
        }
        try expectTold(ModelFeed.told("1", of: 1))
        try place.publish("2", ["a": "two"])
        try expectTold(ModelFeed.told("2", "1", of: 2))
        // A configuration is read again, too; what is taken out of it is answered no more.
        try place.enable(["OTHER": .stable])
        try expectTold("404")
        try expect(answers.text("/model/OTHER/check"), equals: ModelFeed.told("2", "1", of: 2))
        try place.remove(OriginLayout.clientConfiguration(of: ModelFeed.system.rawValue))
        try expect(answers.text("/model/OTHER/check"), equals: "nothing")
    }

    @Test
    func `a request between any two steps of a publisher gets all of the old or all of the new`()
        throws
    {
        let (old, new) = (ModelFeed.told("1", of: 1), ModelFeed.told("2", "1", of: 2))
        // So many steps are taken before the request, and so many between its looks at pointer and history.
        for (before, between) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)] {
            for isKnown in [false, true] {
                let place = try ServedPlace()
                try place.publish("1", ["a": "one"])
                let due = Mutex<[@Sendable () -> Void]>([])
                let reader = OriginReader(
                    try place.origin(),
                    afterPointer: {
                        for step in due.withLock({ $0 }) { step() }
                        due.withLock { $0 = [] }
                    })
                let answers = answers(reader)
                if isKnown { try expect(answers.text(ModelFeed.check), equals: old) }
                let steps = try place.begin("2", ["a": "two"])
                nonisolated(unsafe) let all = [steps.history, steps.pointer]
                for step in all[..<before] { try step() }
                due.withLock {
                    $0 = (before..<before + between).map { index in
                        { do { try all[index]() } catch { Issue.record(error) } }
                    }
                }
                let answer = try answers.text(ModelFeed.check)
                expect(answer, equals: (before == 2 ? new : old), "\(before) \(between) \(isKnown)")
                for step in all { try step() }
                try expect(answers.text(ModelFeed.check), equals: new)
            }
        }
    }

    @Test
    func `what is damaged is answered from no more, and is well again when it is mended`() throws {
        try place.publish("1", ["a": "one"])
        let reader = OriginReader(try place.origin())
        let answers = answers(reader)
        try expect(answers.text("/model/KEY/first"), equals: "one")
        let pointer = place.pointer
        for (path, sound) in [
            (OriginLayout.pointer(.stable), try place.signed(pointer).serialized()),
            (
                OriginLayout.clientHistory(of: .stable, ModelFeed.system.rawValue),
                place.history.serialized()
            ),
        ] {
            try place.write(path, Array("{\"half\":".utf8))
            // It is read once, and refused without being read after that.
            #expect(throws: StoreError.self) { try answers.text(ModelFeed.check) }
            let refused = code { try answers.text(ModelFeed.check, mayRead: false) }
            expect(refused != nil && refused != .unread, "\(path)")
            try place.write(path, sound)
            try expect(
                answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
        }
    }

    @Test(arguments: [false, true])
    func `what the log names is missed within seconds, and the log is not read each time`(
        _ isTrusting: Bool
    ) throws {
        let key = try SigningKey.generate()
        let now = Mutex<Int64>(100)
        place.signers = [key]
        let disk = FaultyFileSystem()
        let answers = answers(
            OriginReader(
                try DirectoryOrigin(place.directory.path, fileSystem: disk),
                trust: isTrusting ? try OriginTrust([key.verificationKey]) : nil,
                now: { now.withLock { $0 } }))
        let steps = try place.begin("1", ["a": "one"])
        try expect(answers.text(ModelFeed.check), equals: "404")
        try announce(in: 1, at: 1)
        now.withLock { $0 = 104 }
        try expect(answers.text(ModelFeed.check, mayRead: false), equals: "404")
        now.withLock { $0 = 105 }
        // What cannot be read now says nothing.
        disk.arm(.fail(EMFILE, at: 1, of: [.open], path: "log"))
        expectRefusal { try answers.text(ModelFeed.check) }
        expect(disk.hasFired)
        for mayRead in [true, false] {
            expectRefusal(.damagedOrigin, saying: "has lost") {
                try answers.text(ModelFeed.check, mayRead: mayRead)
            }
        }
        try steps.history()
        try steps.pointer()
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
    }

    private func announce(in number: Int64, at time: Int64) throws {
        var entry = LogEntry(
            kind: .create, createdAt: time, author: try LogEntry.drawAuthor(), keptFrom: 1)
        var pointer = try place.signed(place.pointer)
        if number > 1 { pointer.log = number }
        (entry.channels[.stable], entry.pointers[.stable]) = (number, pointer)
        try place.write(OriginLayout.logEntry(number), entry.serialized())
    }

    @Test
    func `what a publisher has just announced for the first time is awaited before it is missed`()
        throws
    {
        let now = Mutex<Int64>(100)
        func expectLost() throws {
            let answers = try self.answers(
                OriginReader(place.origin(), now: { now.withLock { $0 } }))
            expectRefusal(.damagedOrigin, saying: "has lost") { try answers.text(ModelFeed.check) }
        }
        let answers = try self.answers(
            OriginReader(place.origin(), now: { now.withLock { $0 } }))
        let steps = try place.begin("1", ["a": "one"])
        try announce(in: 1, at: 98)
        for time in [100, 106] as [Int64] {
            now.withLock { $0 = time }
            try expect(answers.text(ModelFeed.check), equals: "404")
        }
        now.withLock { $0 = 108 }
        try expectLost()
        try announce(in: 2, at: 108)
        try expectLost()
        try steps.history()
        try steps.pointer()
        try expect(answers.text(ModelFeed.check), equals: ModelFeed.told("1", of: 1))
    }

    @Test func `bytes that are not what their address says are never answered`() throws {
        try place.publish("1", ["a": "one"])
        let document = OriginLayout.clientDocument(
            try address(of: Array("one".utf8)), of: ModelFeed.system.rawValue)
        try place.write(document, Array("two".utf8))
        let answers = answers(OriginReader(try place.origin()))
        #expect(throws: StoreError.self) { try answers.text("/model/KEY/first") }
        try place.remove(document)
        try expect(answers.text("/model/KEY/first"), equals: "404")
        // Facts and manifests are held against their addresses, too, whenever they are read.
        let offer = try require(place.history.offers.first)
        guard case .version(let version, let facts) = offer.target else { return }
        for path in [
            OriginLayout.path(.facts, facts), OriginLayout.path(.manifest, version.manifest),
        ] {
            try place.write(path, Array("{}".utf8))
            let fresh = self.answers(OriginReader(try place.origin()))
            #expect(throws: StoreError.self) { try fresh.text("/model/KEY/archive") }
        }
        try place.remove(OriginLayout.path(.manifest, version.manifest))
        let bare = self.answers(OriginReader(try place.origin()))
        // It is offered, so it should be there.
        #expect(throws: StoreError.self) { try bare.text("/model/KEY/archive") }
    }

    @Test func `an archive is composed once to know its length, and never on a loop`() throws {
        let reader = OriginReader(try place.origin())
        var composed = 0
        func ask(_ name: String, mayRead: Bool, _ length: Int64?) throws -> Int64? {
            try reader.archiveByteCount(named: name, mayRead: mayRead) { () throws(StoreError) in
                composed += 1
                return length
            }
        }
        #expect(throws: StoreError.self) { try ask("a", mayRead: false, 5) }
        try expect(ask("a", mayRead: true, 5), equals: 5)
        try expect(ask("a", mayRead: false, 6), equals: 5)
        try expect(ask("b", mayRead: true, nil) == nil)
        try expect(ask("b", mayRead: false, 6) == nil)
        expect(composed, equals: 2)
    }

    @Test func `a history leads nobody to what the pointer does not offer`() throws {
        try place.publish("1", ["a": "one"])
        let honest = try require(place.history.offers.first)
        // Its files stand in the origin, and no pointer lists it.
        _ = try place.begin("2", ["a": "evil"])
        let other = try require(place.history.offers.last)
        guard case .version(let version, let facts) = honest.target,
            case .version(let evil, let evilFacts) = other.target
        else { return }
        let liar = PublishedVersion(
            name: version.name, manifest: evil.manifest, manifestByteCount: evil.manifestByteCount,
            content: version.content)
        let targets: [ClientOffer.Target] = [
            .version(evil, facts: evilFacts), .version(version, facts: evilFacts),
            .version(liar, facts: evilFacts), .version(liar, facts: facts), .embedded,
        ]
        for target in targets {
            var offer = honest
            offer.target = target
            offer.createdAt += 1
            for isBesides in [false, true] {
                try place.write(
                    OriginLayout.clientHistory(of: .stable, ModelFeed.system.rawValue),
                    ClientHistory(
                        ModelFeed.system, .stable, offers: isBesides ? [honest, offer] : [offer]
                    ).serialized())
                let answers = answers(OriginReader(try place.origin()))
                let told = isBesides ? ModelFeed.told("1", of: 2) : "404"
                try expect(answers.text(ModelFeed.check), equals: told)
                try expect(answers.text("/model/KEY/first"), equals: (isBesides ? "one" : "404"))
            }
        }
        // Nor does what was offered before lead to other files under the address of a content.
        var past = honest
        past.target = .version(liar, facts: evilFacts)
        let reader = OriginReader(try place.origin())
        try expect(reader.content(of: honest, mayRead: true) != nil)
        #expect(throws: StoreError.self) { try reader.content(of: past, mayRead: true) }
    }

    @Test
    func
        `only what trusted keys have signed is answered from, never an older one, and none that has expired`()
        throws
    {
        let (key, other) = (try SigningKey.generate(), try SigningKey.generate())
        let now = Mutex<Int64>(100)
        func reader() throws -> OriginReader {
            OriginReader(
                try place.origin(), trust: try OriginTrust([key.verificationKey]),
                now: { now.withLock { $0 } })
        }
        let answers = answers(try reader())
        func isRefused() { expectRefusal(.untrusted) { try answers.text(ModelFeed.check) } }
        try place.publish("1", ["a": "one"])
        isRefused()
        place.signers = [other]
        try place.publish("2", ["a": "two"])
        isRefused()
        place.signers = [key]
        try place.publish("3", ["a": "three"])
        let third = place.pointer
        try expect(
            answers.text(ModelFeed.check), equals: ModelFeed.told("3", "2", "1", of: 3)
        )
        try place.publish("4", ["a": "four"])
        try expect(
            answers.text(ModelFeed.check),
            equals: ModelFeed.told("4", "3", "2", "1", of: 4))
        // The one before, put back by somebody who can write there.
        try place.write(OriginLayout.pointer(.stable), try place.signed(third).serialized())
        isRefused()
        var expiring = place.pointer
        expiring.sequence += 1
        expiring.expiresAt = 200
        try place.write(OriginLayout.pointer(.stable), try place.signed(expiring).serialized())
        try expect(
            answers.text(ModelFeed.check),
            equals: ModelFeed.told("4", "3", "2", "1", of: 4))
        now.withLock { $0 = 201 }
        isRefused()
    }

    @Test func `trust that is copied after the pointer counts from then on`() throws {
        let (key, other) = (try SigningKey.generate(), try SigningKey.generate())
        let answers = answers(
            OriginReader(try place.origin(), trust: try OriginTrust([key.verificationKey])))
        place.signers = [other]
        try place.publish("1", ["a": "one"])
        var pointer = place.pointer
        pointer.sequence += 1
        pointer.trustVersion = 2
        let signed = try place.signed(pointer)
        try place.write(OriginLayout.pointer(.stable), signed.serialized())
        expectRefusal(.untrusted) { try answers.text(ModelFeed.check) }
        var trust = TrustFile(
            origin: try require(signed.origin), version: 2,
            trusted: try TrustedKeys([other.verificationKey], threshold: 1), createdAt: 1)
        let sorted = [key, other].sorted { $0.verificationKey.id < $1.verificationKey.id }
        for signer in sorted {
            trust.signatures.append(
                PointerSignature(
                    key: signer.verificationKey.id, signature: try signer.sign(trust.signedBytes)))
        }
        try place.write(OriginLayout.trust(2), trust.serialized())
        try expect(answers.text(ModelFeed.check).hasSuffix(#"["1"] of 1"#))
    }

    @Test func `memory has a bound, whatever is asked for`() throws {
        var limits = OriginReader.Limits()
        limits.bytes = 4096
        let reader = OriginReader(try place.origin(), limits: limits)
        for number in 0..<40 {
            try place.write("channels/c\(number).json", [UInt8](repeating: 32, count: 200))
            _ = try reader.file("channels/c\(number).json", limit: 1000, mayRead: true)
        }
        for number in 0..<40 {
            try expect(reader.file("channels/n\(number).json", limit: 1000, mayRead: true) == nil)
        }
        let (count, cost) = reader.state.withLock { ($0.files.count, $0.files.cost) }
        expect(count > 0 && cost <= 4096)
        // What was used last is still there; what is larger than the limit is read each time.
        try expect(reader.file("channels/c39.json", limit: 1000, mayRead: false) != nil)
        expectRefusal { try reader.file("channels/c0.json", limit: 1000, mayRead: false) }
        expectRefusal { try reader.file("channels/c0.json", limit: 100, mayRead: true) }
    }

    @Test
    func `what was asked for last stays, however large it is, so that it is read once`() throws {
        var limits = OriginReader.Limits()
        (limits.bytes, limits.contents, limits.encoded) = (1000, 100, 100)
        let large = String(repeating: "a", count: 5000)
        try place.publish("1", ["a": large, "b": "b"])
        let answers = OriginAnswers(
            OriginReader(try place.origin(), limits: limits), feeds: [ModelFeed.self],
            planned: 100)
        try expect(answers.text("/model/KEY/first"), equals: large)
        try expect(answers.text("/model/KEY/first", mayRead: false), equals: large)
        let request = ClientRequest("GET", "/model/KEY/archive")
        let plan = try require(try answers.answer(request, mayRead: true)?.plan)
        answers.remember(plan)
        try expect(answers.answer(request, mayRead: false) != nil)
        // A long answer is written once, where nobody waits for it, and anew for what is another.
        for name in ["1", "2"] {
            if name == "2" { try place.publish("2", ["c": large]) }
            #expect(throws: StoreError.self) { try answers.text("/model/KEY/long", mayRead: false) }
            let long = String(repeating: name, count: 10_000)
            try expect(answers.text("/model/KEY/long"), equals: long)
            try expect(answers.text("/model/KEY/long", mayRead: false), equals: long)
        }
    }

    @Test func `URLs begin with what the server was told, if it was`() throws {
        try place.publish("1", ["a": "one"])
        let reader = OriginReader(try place.origin(), baseURL: "http://127.0.0.1:8090")
        try expect(
            answers(reader).text(ModelFeed.check),
            equals: ModelFeed.told("1", of: 1, from: "http://127.0.0.1:8090"))
    }
}
