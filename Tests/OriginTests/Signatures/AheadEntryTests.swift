import OriginTestSupport

@testable import Origin

/// Entries whose releases stand in an epoch that the log has not reached: docs/buckets.md, "Signed channels".
@Suite("An entry of the log that is ahead of it") struct AheadEntryTests {
    private struct Scene {
        let people: SignedPlace
        let isSigned: Bool

        init(_ kind: OriginPlace, isSigned: Bool) throws {
            people = try SignedPlace(kind)
            self.isSigned = isSigned
            let signing = isSigned ? try people.signing(people.alice) : PointerSigning()
            for version in ["1", "2"] { try people.publish(version, signing) }
            try people.publish("1", signing, to: "beta")
        }

        func signing() throws -> PointerSigning {
            isSigned ? try people.signing(people.alice) : PointerSigning()
        }

        /// What a stranger appends, where something is signed by a stolen key.
        func append() throws {
            let log = OriginLog(try people.place.storage())
            let end = try require(try log.end(from: 0))
            var pointer = try require(
                try log.validEntry(at: end).entry.pointers[.stable] ?? people.pointer())
            pointer.signatures = []
            (pointer.log, pointer.sequence) = (end + 1, pointer.sequence + 1)
            for position in pointer.releases.indices {
                var version = try require(pointer.releases[position].version)
                (version.epoch, version.places) = (2, try ObjectID(of: [1]))
                pointer.releases[position].target = .version(version)
            }
            if isSigned { pointer = try people.signing(people.alice).sign(pointer, now: 1) }
            var entry = try require(try log.reading(end)?.entry)
            entry.author = try LogEntry.drawAuthor()
            (entry.configurations, entry.rows) = ([:], [:])
            entry.channels[.stable] = end + 1
            entry.pointers = [.stable: pointer]
            try people.place.set(OriginLayout.logEntry(end + 1), entry.serialized())
            try people.place.set(OriginLayout.pointer(.stable), pointer.serialized())
        }
    }

    private typealias Verb = @Sendable (SignedPlace, Publisher) throws -> Void

    private static let verbs: [(String, Verb)] = [
        ("publish", { try $1.publish("1", of: $0.place.versions) }),
        (
            "publish elsewhere",
            {
                let offer = ReleaseOffer(channel: try ChannelName("beta"))
                try $1.publish("2", of: $0.place.versions, as: offer)
                try $1.publish("1", of: $0.place.versions)
            }
        ),
        ("withdraw", { _ = try $1.withdraw(VersionName("2")) }),
        ("prune", { _ = try $1.collect(OriginRetention(releaseCount: 1, graceSeconds: 0)) }),
    ]

    private static let signedVerbs: [(String, Verb)] = [
        ("resign", { try $1.resign() }),
        (
            "rotate",
            {
                try $1.rotate($0.rotation($0.alice, to: $0.bob))
            }
        ),
    ]

    @Test(
        "keeps nobody from publishing, withdrawing, pruning, signing anew or changing keys",
        arguments: places, [false, true])
    func passedOver(_ kind: OriginPlace, _ isSigned: Bool) throws {
        for (verb, run) in Self.verbs + (isSigned ? Self.signedVerbs : []) {
            for count in 1...2 {
                let scene = try Scene(kind, isSigned: isSigned)
                let (people, notices) = (scene.people, Notices())
                for _ in 1...count { try scene.append() }
                let signing =
                    verb == "rotate"
                    ? try people.signing(people.alice, people.bob) : try scene.signing()
                let what = "\(verb) after \(count), signed: \(isSigned)"
                let refused = refusal {
                    try run(people, people.publisher(signing, notices: notices))
                }
                expect(refused == nil, "\(what): \(refused?.message ?? "")")
                expect(
                    notices.all.contains { $0.contains("it offers what stands in epoch 2") },
                    "\(what): \(notices.all)")
                for (channel, pointer) in try people.state().pointers {
                    expect(pointer.liveReleases.allSatisfy { $0.version.epoch == 0 }, "\(what)")
                    try expect(people.pointer(channel.description), equals: pointer, "\(what)")
                    let files = try pointer.liveReleases.map {
                        try people.place.files(of: $0.version)
                    }
                    expect(!files.isEmpty, "\(what)")
                }
            }
        }
    }

    // docs/signing.md, "Changing keys": what is written there cannot be taken back.
    @Test(
        "of which castree would be the author is refused before a version of the trust is written")
    func beforeTrust() throws {
        let people = try SignedPlace(signed: "1")
        var state = try people.state()
        // The log has no number left.
        expect(ChannelPointer.logMax > state.number)
        state = Origin.OriginState(
            number: ChannelPointer.logMax, entry: state.entry, pointers: state.pointers)
        let rotation = TrustRotation(adding: [try people.key(people.bob)])
        let both = try people.signing(people.alice, people.bob) {
            $0.trusted = [try people.key(people.alice)]
        }
        let step = try rotation.step(
            upon: state.pointers, by: both, in: "", log: 3, signing: [], now: 1
        ) { _ in nil }
        expectRefusal(.damagedOrigin, saying: "no number left") {
            try OriginPublisher(people.place.storage()).checkEntries(of: step, upon: state)
        }
    }
}
