import OriginTestSupport

@testable import Origin

/// Who can write to the origin, and has no key or a stolen one.
@Suite("A publisher that signs where a stranger has written") struct SignedStrangersTests {
    /// What a stranger who can write to the origin may put in the place of a pointer.
    private func tampered(_ place: SignedPlace) throws -> [(String, ChannelPointer)] {
        let right = try place.pointer()
        let mallory = try place.signing(place.mallory)
        var evil = right
        evil.releases[0].isMandatory = true
        var unsigned = right
        unsigned.signatures = []
        var renamed = try mallory.sign(evil, now: 1)
        renamed.signatures = [
            PointerSignature(
                key: right.signatures[0].key, signature: renamed.signatures[0].signature)
        ]
        var beside = try mallory.sign(evil, now: 1)
        beside.signatures = (beside.signatures + right.signatures).sorted { $0.key < $1.key }
        return [
            ("changed", evil), ("unsigned", unsigned),
            ("signed by a stranger", try mallory.sign(evil, now: 1)),
            ("signed under another's name", renamed),
            ("with a stranger's signature beside", beside),
        ]
    }

    @Test("does not sign what a stranger has put there, whatever it does", arguments: places)
    func strangers(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let signing = try place.signing(place.alice)
        let publisher = place.publisher(signing)
        for (what, pointer) in try tampered(place) {
            try place.put(pointer)
            let before = try place.bytes()
            let verbs: [() throws -> Void] = [
                { try place.publish("2", signing) }, { try place.publish("1", signing) },
                { _ = try publisher.withdraw(VersionName("1")) },
                { _ = try publisher.resign() },
                { _ = try publisher.rotate(TrustRotation(adding: [place.key(place.bob)])) },
            ]
            for verb in verbs { expectRefusal(.untrusted, "\(what)") { try verb() } }
            try expect(place.bytes(), equals: before, "\(what)")
        }
    }

    @Test("with two keys signs nothing that only one of them has signed", arguments: places)
    func stolenKey(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        let both = try place.signing(place.alice, place.bob)
        try place.publish("1", both)
        // Bob's key is stolen, and Alice's is not.
        var evil = try place.pointer()
        evil.releases[0].isMandatory = true
        try place.put(try place.signing(place.bob).sign(evil, now: 1))
        expectRefusal(.untrusted) { try place.publish("2", both) }
    }

    /// Signed by the same key, it would carry this origin's releases to the devices of the other one.
    @Test(
        "does not build upon a pointer of another origin that somebody has copied here",
        arguments: places)
    func otherOrigin(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        let signing = try place.signing(place.alice)
        let other = SignedPlace(copying: place, "other")
        try other.publish("1", signing)
        try other.publish("1", signing, to: "beta")
        let foreign = try other.pointer()
        try place.publish("1", signing)
        try place.put(foreign)
        let verbs: [() throws -> Void] = [
            { try place.publish("2", signing) }, { try place.publish("2", signing, to: "beta") },
            { _ = try place.publisher(signing).resign() },
            {
                _ = try place.publisher(signing).rotate(
                    TrustRotation(adding: [place.key(place.bob)]))
            },
        ]
        for verb in verbs { expectRefusal(.untrusted) { try verb() } }
        try expect(place.pointer(), equals: foreign)
        // Without a memory a channel beside it tells.
        try place.forget(place.alice)
        try other.publish("2", signing)
        var moved = try other.pointer()
        moved.origin = String(repeating: "7", count: 32)
        try other.put(signing.sign(moved, now: 1))
        expectRefusal(.untrusted) { try other.publish("1", signing) }
    }

    /// A channel that a stranger adds by an entry of the log, or takes over.
    private func forgeries(
        _ place: SignedPlace
    ) throws -> [(String, (inout ChannelPointer) throws -> Void)] {
        let mallory = try place.signing(place.mallory)
        func signed(
            _ change: @escaping (inout ChannelPointer) -> Void
        ) -> (inout ChannelPointer) throws -> Void {
            { pointer in
                change(&pointer)
                pointer = try mallory.sign(pointer, now: 1)
            }
        }
        return [
            ("claims that Alice has signed", { $0.releases[0].isMandatory = true }),
            ("unsigned", { $0.signatures = [] }),
            ("empty", { ($0.signatures, $0.releases) = ([], []) }),
            ("signed by a stranger", signed { _ in }),
            ("of a newer trust", signed { $0.trustVersion = 99 }),
            ("of another origin", signed { $0.origin = String(repeating: "7", count: 32) }),
            ("far ahead", signed { $0.sequence = ChannelPointer.sequenceMax }),
        ]
    }

    // Entries of the log cannot be taken back, and nobody needs a key for one.
    @Test(
        "renews in time, and rotates, what its keys have signed, whichever channels a stranger adds or takes over",
        arguments: places, ["a", "beta"])
    func strangersChannels(_ kind: OriginPlace, _ name: String) throws {
        for position in try forgeries(SignedPlace()).indices {
            let place = try SignedPlace(kind, signed: "1", in: ["beta", "stable"])
            let (what, forge) = try forgeries(place)[position]
            try append(to: name, in: place, forge)
            let renewing = try place.signing(place.alice) { $0.expiry = .after(1 << 30) }
            let error = refusal { try place.publisher(renewing).resign() }
            // Who runs it from cron is told of a channel that nobody has signed.
            expect(error?.code, equals: name == "beta" ? nil : .untrusted, "\(what)")
            let rest = "--channel a (signed anew: beta, stable)"
            expect(error?.message.hasSuffix(rest) ?? true, "\(what)")
            for channel in ["beta", "stable"] {
                try place.expectSigned(by: place.alice, channel: channel)
                try expect(place.pointer(channel).expiresAt != nil, "\(what)")
            }
            try append(to: name, in: place, forge)
            let notices = Notices()
            let both = try place.signing(place.alice, place.bob)
            let step = try place.publisher(both, notices: notices).rotate(
                place.rotation(place.alice, to: place.bob))
            expect(step.file.version == 2 && step.pointers.count == 2, "\(what)")
            let areNamed = notices.all.contains { $0.contains("stay as they are: a;") }
            expect(areNamed, equals: name == "a", "\(what): \(notices.all)")
            for channel in ["beta", "stable"] {
                try place.expectSigned(by: place.bob, channel: channel)
                let pointer = try place.pointer(channel)
                expect(pointer.trustVersion == 2 && pointer.releases.count == 1, "\(what)")
                expect(pointer.releases.first?.isMandatory, equals: false, "\(what)")
                try place.publish("2", place.signing(place.bob), to: channel)
            }
            guard what == "of a newer trust", name == "a" else { continue }
            // A check, which has no keys, says whom to look at.
            let missing = try OriginAudit(place.place.storage()).run().findings.first?.message
            let advice = "castree resign --channel a --adopt --unsigned"
            expect(missing?.contains(advice) == true, "\(missing ?? "")")
            let adopting = try place.signing(place.bob) {
                ($0.adopts, $0.allowsFewer) = (true, true)
            }
            try place.publisher(adopting).resign(ChannelName("a"))
            try expect(OriginAudit(place.place.storage()).run().findings, equals: [])
        }
    }

    @Test(
        "prunes its own channels, and keeps what a stranger's names", arguments: places,
        [true, false])
    func pruned(_ kind: OriginPlace, _ remembers: Bool) throws {
        let people = try SignedPlace(kind, signed: "1", "2")
        let alice = try people.signing(people.alice)
        let mallory = try people.signing(people.mallory) {
            ($0.adopts, $0.origin) = (true, String(repeating: "7", count: 32))
        }
        try people.place.store.add("3", ["3.txt": "3"])
        for version in ["3", "1"] { try people.publish(version, mallory, to: "a") }
        let before = try people.pointer("a")
        if !remembers { try people.forget(people.alice) }
        let notices = Notices()
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
        let report = try people.publisher(alice, notices: notices).collect(retention)
        expect(report.trimmedCount, equals: 1)
        expect(notices.all.count { $0.hasPrefix("channel a is not trimmed") }, equals: 1)
        try expect(people.pointer("a"), equals: before)
        try expect(people.pointer().releases.count, equals: 1)
        for version in before.releases.compactMap(\.version) {
            try expect(!people.place.files(of: version).isEmpty)
        }
    }

    // Who knows that format is not to be undone: and nobody else's word counts.
    @Test(
        "writes nothing over what a newer castree has signed, and passes over what a stranger says is newer",
        arguments: places, [true, false])
    func newer(_ kind: OriginPlace, _ remembers: Bool) throws {
        for (isOwn, isEntryNewer) in [(true, false), (true, true), (false, false), (false, true)] {
            let people = try SignedPlace(kind, signed: "1")
            let alice = try people.signing(people.alice)
            let state = try people.state()
            var pointer = try require(state.pointers[.stable])
            (pointer.log, pointer.signatures) = (state.number + 1, [])
            pointer.sequence += 1
            var members = (pointer.document.asObject ?? []).filter { $0.key != "castreeChannel" }
            members.append(.init(key: "castreeChannel", value: .integer(2)))
            members.append(.init(key: "new", value: .bool(true)))
            let signer = try KeyFileSigner(file: isOwn ? people.alice : people.mallory)
            let signatures = try ([signer] as [any PointerSigner]).sign(
                ChannelPointer.signedBytes(of: .object(members)))
            members.append(.init(key: "signatures", value: signatures.document))
            var entry = try LogEntry(after: state, .publish, now: 1)
            (entry.channels[.stable], entry.pointers[.stable]) = (state.number + 1, pointer)
            let document = try JSONValue.parse(entry.serialized())
            let changed = (document.asObject ?? []).map { member -> JSONValue.Member in
                switch member.key {
                case "pointers":
                    .init(
                        key: member.key,
                        value: .object([.init(key: "stable", value: .object(members))]))
                case "castreeLog" where isEntryNewer: .init(key: member.key, value: .integer(2))
                default: member
                }
            }
            try people.place.set(
                OriginLayout.logEntry(state.number + 1),
                JSONWriter.serialize(.object(changed), sortedKeys: true) + [10])
            if !remembers { try people.forget(people.alice) }
            let before = try people.place.published()
            let publisher = people.publisher(alice)
            let verbs: [() throws -> Void] = [
                { try people.publish("2", alice) },
                { _ = try publisher.withdraw(VersionName("1")) },
                { _ = try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0)) },
                { _ = try publisher.resign() },
                { _ = try publisher.rotate(TrustRotation(adding: [people.key(people.bob)])) },
            ]
            for (number, verb) in verbs.enumerated() where isOwn || number == 0 {
                let what = "own: \(isOwn), \(isEntryNewer) \(number)"
                expect(refusal(verb)?.code, equals: isOwn ? .unsupportedFormat : nil, "\(what)")
            }
            if isOwn { try expect(people.place.published(), equals: before) }
        }
    }

    /// Writes the next entry of the log, as a stranger may: the pointer of the stable channel, changed.
    private func append(
        to channel: String, in place: SignedPlace, _ change: (inout ChannelPointer) throws -> Void
    ) throws {
        let state = try place.state()
        var pointer = try require(state.pointers[.stable])
        (pointer.channel, pointer.log) = (try ChannelName(channel), state.number + 1)
        try change(&pointer)
        try place.append(pointer)
    }

    @Test("makes no packs from what a stranger offers", arguments: places)
    func strangersPacks(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        let alice = try place.signing(place.alice)
        try place.publish("1", alice)
        try place.place.store.add("9", ["index.html": "<h1>nine</h1>"])
        let mallory = place.place.publisher(packs: .before) { $0.isDurable = false }
        for version in ["2", "9"] {
            _ = try mallory.publish(
                version, of: place.place.versions,
                as: ReleaseOffer(channel: try ChannelName("evil")))
        }
        let publisher = place.place.publisher(packs: .before) { $0.signing = alice }
        let planned = try publisher.plan("2", of: place.place.versions)
        let done = try publisher.publish("2", of: place.place.versions)
        for report in [planned.packing, done.packing] {
            let bases =
                (report?.packs ?? []).compactMap(\.version)
                + (report?.refusals ?? []).map(\.version)
            expect(bases == ["1"], "\(report as Any)")
        }
    }

    @Test(
        "publishes under each name, and packs it, whatever a stranger says was offered or withdrawn under it",
        arguments: places, ["stable", "evil"])
    func strangersNames(_ kind: OriginPlace, _ channel: String) throws {
        for isWithdrawn in [true, false] {
            let place = try SignedPlace(kind, signed: "1")
            let alice = try place.signing(place.alice)
            func append() throws {
                try self.append(to: channel, in: place) { pointer in
                    let other = try ObjectID(of: [1])
                    if isWithdrawn {
                        pointer.withdrawn = [
                            WithdrawnVersion(name: try VersionName("2"), content: other)
                        ]
                        pointer.releases = []
                    } else {
                        var version = try require(pointer.releases[0].version)
                        version.name = try VersionName("2")
                        version.content = other
                        pointer.releases[0].target = .version(version)
                    }
                }
            }
            try append()
            _ = try place.publisher(alice).plan("2", of: place.place.versions)
            try place.publish("2", alice)
            try append()
            _ = try place.publisher(alice).engine().planPacks("2", of: place.place.versions)
            _ = try place.publisher(alice).engine().pack("2", of: place.place.versions)
            let offered = try place.pointer().releases.compactMap { $0.version?.name.description }
            expect(offered, equals: ["2", "1"])
            guard channel == "stable", !isWithdrawn else { continue }
            try append()
            let adopting = try place.signing(place.alice) { $0.adopts = true }
            expectRefusal(saying: "leave --adopt out") { try place.publish("2", adopting) }
        }
    }

    @Test(
        "adopts for the sake of a name only what its keys have signed, and says whose list it adopts else",
        arguments: places, ["stable", "beta"])
    func adoptedNames(_ kind: OriginPlace, _ channel: String) throws {
        let place = try SignedPlace(kind, signed: "1", in: ["stable", "beta"])
        let alice = try place.signing(place.alice)
        // Withdrawn by a key, and with other content.
        var pointer = try place.pointer("beta")
        pointer.withdrawn = [
            WithdrawnVersion(name: try VersionName("2"), content: try ObjectID(of: [1]))
        ]
        pointer.sequence += 1
        try place.put(alice.sign(pointer, now: pointer.createdAt), "beta")
        try append(to: channel, in: place) { $0.releases[0].isMandatory = true }
        expectRefusal(.versionExists, saying: "--adopt") {
            try place.publish("2", alice, to: channel)
        }
        let adopting = try place.signing(place.alice) { $0.adopts = true }
        try place.publish("2", adopting, to: channel)
        let releases = try place.pointer(channel).releases
        expect(releases.count == 2 && releases.allSatisfy { !$0.isMandatory })
        try append(to: channel, in: place) { $0.releases[0].isMandatory = true }
        let notices = Notices()
        try place.publisher(adopting, notices: notices).resign(ChannelName(channel))
        let said = notices.all.first { $0.hasPrefix("signing channel \(channel)") }
        expect(said?.contains("the adopted pointer of sequence") == true, "\(notices.all)")
        try expect(place.pointer(channel).releases.contains(where: \.isMandatory))
    }

    @Test(arguments: places)
    func `takes no id from a channel that a stranger has signed`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        try place.publish("1", place.signing(place.mallory), to: "beta")
        expectRefusal(.untrusted) { try place.publish("1", place.signing(place.alice)) }
    }

    @Test(
        "says of what is signed in its own key's name that the signature does not match",
        arguments: places)
    func forgedSignature(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let forged = try require(tampered(place).first { $0.0 == "signed under another's name" })
        try place.put(forged.1)
        let notices = Notices()
        let adopting = try place.signing(place.alice) { $0.adopts = true }
        try place.publisher(adopting, notices: notices).resign()
        let dropped = try require(notices.all.first { $0.hasPrefix("dropping") })
        try expect(dropped.contains(place.key(place.alice).id))
        expect(dropped.contains("does not match") && !dropped.contains("known"), "\(dropped)")
    }

    @Test("is stopped by no signature that somebody adds, once it was looked at", arguments: places)
    func addedSignature(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let signing = try place.signing(place.alice)
        var pointer = try place.pointer()
        let added = try place.signing(place.mallory).sign(pointer, now: 1)
        pointer.signatures = (pointer.signatures + added.signatures).sorted { $0.key < $1.key }
        try place.put(pointer)
        expectRefusal(.untrusted, saying: "--adopt") { try place.publish("2", signing) }
        // One that is known has signed, and is not dropped by looking.
        let known = try place.signing(place.alice) {
            ($0.adopts, $0.trusted) = (true, [try place.key(place.mallory)])
        }
        expectRefusal(.untrusted) { try place.publish("2", known) }
        let notices = Notices()
        let adopting = try place.signing(place.alice) { $0.adopts = true }
        try place.publisher(adopting, notices: notices).resign()
        try place.expectSigned(by: place.alice)
        let mallory = try place.key(place.mallory).id
        expect(notices.all.contains { $0.contains("dropping") && $0.contains(mallory) })
    }
}
