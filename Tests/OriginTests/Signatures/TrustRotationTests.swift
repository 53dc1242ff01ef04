import OriginTestSupport

@testable import Origin

@Suite("A rotation") struct TrustRotationTests {
    private func signed(_ kind: OriginPlace) throws -> SignedPlace {
        try SignedPlace(kind, signed: "1", in: ["beta", "stable"])
    }

    private func rotation(_ place: SignedPlace) throws -> TrustRotation {
        try place.rotation(place.alice, to: place.bob)
    }

    private func trust(_ place: SignedPlace, _ version: Int64) throws -> TrustFile {
        let bytes = try require(place.place.bytes("trust/\(version).json"))
        return try TrustFile(parsing: bytes, version: version)
    }

    @Test(
        "writes what leads from the old keys to the new ones, and signs every channel by these",
        arguments: places)
    func rotating(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.signing(place.alice, place.bob)
        let before = try place.pointer()
        let step = try place.publisher(both).rotate(rotation(place))
        expect(step.file.version == 2 && step.pointers.count == 2)
        let file = try trust(place, 2)
        let (old, new) = (
            try TrustedKeys([place.key(place.alice)]), try TrustedKeys([place.key(place.bob)])
        )
        let origin = try require(before.origin)
        try file.check(follows: old, 1, of: origin)
        expect(file.trusted, equals: new)
        for channel in ["beta", "stable"] {
            try place.expectSigned(by: place.bob, channel: channel)
            try expect(place.pointer(channel).trustVersion, equals: 2)
            try expect(place.pointer(channel).origin, equals: origin)
        }
        try expect(place.pointer().releases, equals: before.releases)
        // The old key signs nothing any more, and the next release needs only the new one.
        expectRefusal(.untrusted) { try place.publish("2", place.signing(place.alice)) }
        try place.publish("2", place.signing(place.bob))
        try expect(place.pointer().trustVersion, equals: 2)
        try place.publish("2", place.signing(place.bob), to: "gamma")
        try expect(place.pointer("gamma").trustVersion, equals: 2)
        // And so on: whoever has version 1 can follow to 3.
        // A prune keeps what they need.
        try place.publisher(place.signing(place.bob)).collect(OriginRetention(graceSeconds: 0))
        let next = TrustRotation(adding: [try place.key(place.alice)], threshold: 2)
        let trusting = try place.signing(place.alice, place.bob) {
            $0.trusted = [try place.key(place.bob)]
        }
        try place.publisher(trusting).rotate(next)
        try trust(place, 3).check(follows: new, 2, of: origin)
        try expect(trust(place, 3).trusted.threshold, equals: 2)
        try place.expectSigned(by: place.alice, place.bob)
        expectRefusal(.untrusted) { try trust(place, 3).check(follows: old, 1, of: origin) }
    }

    @Test("needs the old keys and the new ones, and must change something", arguments: places)
    func refusals(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let before = try place.place.published()
        func code(_ rotation: TrustRotation, _ signing: PointerSigning) -> StoreError.Code? {
            refusal { try place.publisher(signing).rotate(rotation) }?.code
        }
        let (alice, bob) = (try place.signing(place.alice), try place.signing(place.bob))
        let both = try place.signing(place.alice, place.bob)
        // The new key alone; the old one alone, which is to go; a stranger; nobody.
        expect(code(try rotation(place), bob), equals: .badKey)
        expect(code(try rotation(place), alice), equals: .untrusted)
        expect(
            code(try rotation(place), try place.signing(place.mallory, place.bob)),
            equals: .untrusted)
        expect(code(try rotation(place), PointerSigning()), equals: .badKey)
        expect(code(TrustRotation(), alice), equals: .badKey)
        expect(code(TrustRotation(adding: [try place.key(place.alice)]), both) != nil)
        let unknown = TrustRotation(removing: [try place.key(place.mallory).id])
        expect(code(unknown, alice), equals: .badKey)
        expect(code(TrustRotation(threshold: 2), alice), equals: .badKey)
        let last = TrustRotation(removing: [try place.key(place.alice).id])
        expect(code(last, alice), equals: .badKey)
        try expect(place.place.published(), equals: before)
        // Where nobody has signed anything.
        let other = SignedPlace(copying: place, "other")
        try other.place.publish("1", to: "gamma")
        let advice = "castree withdraw VERSION --channel gamma --unsigned"
        expectRefusal(.untrusted, saying: "castree channels", advice) {
            try other.publisher(both).rotate(rotation(other))
        }
    }

    @Test(
        "asks for as many signatures the first time as sign now, and leaves out who does not",
        arguments: places)
    func firstThreshold(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.signing(place.alice, place.bob)
        var trusting = both
        trusting.trusted = [try place.key(place.alice)]
        try place.publisher(trusting).resign()
        let devices = try TrustedKeys(both.signers.map(\.key), threshold: 2)
        let whole = try place.place.files()
        let third = try place.key(place.mallory)
        for threshold in [nil, 1] {
            try place.place.restore(whole)
            // The origin is the older copy.
            try place.forget(place.alice, place.bob)
            let step = try place.publisher(both).rotate(
                TrustRotation(adding: [third], threshold: threshold))
            try step.file.check(follows: devices, 1, of: step.file.origin)
            expect(step.file.trusted.threshold, equals: threshold ?? 2)
            expect(step.assumesThreshold, equals: (threshold == nil))
            expect(Set(step.file.trusted.keys), equals: Set(devices.keys + [third]))
        }
    }

    @Test(
        "that was cut short is to be repeated, and its file never to be deleted",
        arguments: places)
    func adviceForUnfinished(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let before = try ["beta", "stable"].map { ($0, try place.pointer($0)) }
        let both = try place.signing(place.alice, place.bob)
        try place.publisher(both).rotate(rotation(place))
        // Before any channel was signed by the new key.
        for (channel, pointer) in before { try place.put(pointer, channel) }
        try place.forget(place.alice, place.bob)
        let other = TrustRotation(adding: [try place.key(place.mallory)])
        let error = expectRefusal(
            saying: "repeat it", "must stay", "If you do not know its keys"
        ) { try place.publisher(place.signing(place.alice)).rotate(other) }
        expect(error?.message.contains("delete"), equals: false)
        try place.publisher(both).rotate(rotation(place))
        try place.expectSigned(by: place.bob)
    }

    @Test(
        "that was cut short between two channels is named by fsck and to whoever signs the other one",
        arguments: places)
    func betweenChannels(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.signing(place.alice, place.bob)
        let whole = try place.place.files()
        for point in 0..<200 {
            try place.place.restore(whole)
            try place.forget(place.alice, place.bob)
            let steps = EndingSteps(after: point, isApplied: true)
            _ = refusal { try place.publisher(both, ending: steps).rotate(rotation(place)) }
            if try place.pointer("beta").trustVersion == 2 { break }
        }
        try expect(place.pointer("beta").trustVersion, equals: 2)
        try expect(place.pointer().trustVersion == nil)
        func findings() throws -> [OriginFinding] {
            try OriginAudit(place.place.storage(), .hasty()).run().findings
        }
        let found = try findings().filter { $0.path == OriginLayout.trust(2) }
        expect(found.map(\.kind), equals: [.wrongPointer])
        expect(found.allSatisfy { $0.message.contains("stable") && !$0.message.contains("beta") })
        let signings = [
            try place.signing(place.alice), try place.signing(place.alice) { $0.adopts = true },
            try place.signing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) },
            try place.signing(place.bob),
            try place.signing(place.bob) { $0.trusted = [try place.key(place.alice)] },
        ]
        for (number, signing) in signings.enumerated() {
            let error = expectRefusal(
                .untrusted, "\(number)", saying: "repeat it as it was (castree trust rotate)"
            ) { try place.publish("2", signing) }
            expect(error?.message.contains("delete"), equals: false)
        }
        try place.publisher(both).rotate(rotation(place))
        for channel in ["beta", "stable"] {
            try place.expectSigned(by: place.bob, channel: channel)
        }
        try expect(findings(), equals: [])
        try place.publish("2", place.signing(place.bob))
    }

    @Test(arguments: places)
    func `replaces what stands in its file's place and is none: no device follows that`(
        _ kind: OriginPlace
    ) throws {
        let whole = try signed(kind)
        let both = try whole.signing(whole.alice, whole.bob)
        let before = try whole.place.files()
        try whole.publisher(both).rotate(rotation(whole))
        let file = try require(whole.place.bytes("trust/2.json"))
        for garbage in [
            [], Array("{".utf8), Array("{}\n".utf8), Array(file.dropLast()), file + [32],
            [UInt8](repeating: 32, count: 300_000),
        ] {
            try whole.place.restore(before)
            try whole.forget(whole.alice, whole.bob)
            try whole.place.set("trust/2.json", garbage)
            try whole.publisher(both).rotate(rotation(whole))
            try whole.expectSigned(by: whole.bob)
        }
    }

    // docs/signing.md, "Changing keys": an origin has one list of keys, whoever signs which channel.
    @Test("of one of two teams with a key each leaves the other a way to rotate", arguments: places)
    func teams(_ kind: OriginPlace) throws {
        let people = try SignedPlace(kind)
        let (alice, bob) = (people.alice, people.bob)
        try people.publish("1", people.signing(alice))
        try people.publish("1", people.signing(bob) { $0.adopts = true }, to: "beta")
        let beta = try ChannelName("beta")
        let first = try TrustedKeys([people.key(alice), people.key(bob)])
        let notices = Notices()
        let both = try people.signing(alice, people.mallory)
        let change = try people.rotation(alice, to: people.mallory)
        try people.publisher(both, notices: notices).rotate(change)
        expect(notices.all.contains { $0.contains("beta") && $0.contains("--trust") })
        let keys = people.place.store.directory.appending("keys")
        try SigningKey.generate().write(to: "\(keys)/next")
        let next = try people.rotation(bob, to: "\(keys)/next")
        let refused = expectRefusal(
            .untrusted, saying: "trust rotate ORIGIN --add", "resign ORIGIN --channel NAME --adopt"
        ) { try people.rotate(bob, to: "\(keys)/next") }
        expect(refused?.message.contains("remove the file"), equals: false)
        // As it says.
        try people.publisher(people.signing(people.mallory)).rotate(
            TrustRotation(adding: [people.key(bob)]))
        let adopting = try people.signing(bob) { $0.adopts = true }
        try people.publisher(adopting).resign(beta)
        try people.publish("2", people.signing(bob), to: "beta")
        let named = try people.signing(bob, "\(keys)/next") {
            $0.trusted = [try people.key(people.mallory)]
        }
        let step = try people.publisher(named).rotate(next)
        expect(step.file.version, equals: 4)
        let (two, three) = (try trust(people, 2), try trust(people, 3))
        try two.check(follows: first, 1, of: step.file.origin)
        try three.check(follows: two.trusted, 2, of: step.file.origin)
        try step.file.check(follows: three.trusted, 3, of: step.file.origin)
        for channel in ["beta", "stable"] {
            try expect(step.file.counts(people.pointer(channel)), "\(channel)")
        }
        // Who names the other team first leaves nobody behind.
        let other = try SignedPlace(kind)
        try other.publish("1", other.signing(other.alice))
        try other.publish("1", other.signing(other.bob) { $0.adopts = true }, to: "beta")
        let naming = try other.signing(other.alice, other.mallory) {
            $0.trusted = [try other.key(other.bob)]
        }
        let together = try other.publisher(naming).rotate(
            other.rotation(other.alice, to: other.mallory))
        try expect(
            Set(together.file.trusted.keys),
            equals: [other.key(other.bob), other.key(other.mallory)])
        for channel in ["beta", "stable"] {
            try expect(together.file.counts(other.pointer(channel)), "\(channel)")
        }
    }

    @Test(arguments: places)
    func `adds a key that is not there yet, such as one kept apart`(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let rotation = TrustRotation(adding: [try place.key(place.bob)])
        let step = try place.publisher(place.signing(place.alice)).rotate(rotation)
        // It has not signed that it counts: nothing else asks for it.
        expect(step.file.trusted.keys.count == 2 && step.file.trusted.threshold == 1)
        try step.file.check(follows: TrustedKeys([place.key(place.alice)]), 1, of: step.file.origin)
        try place.expectSigned(by: place.alice)
    }

    @Test(
        "that is cut short at any call continues when it is repeated, and names no version that is not there",
        arguments: places)
    func crashes(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let both = try place.signing(place.alice, place.bob)
        let old = try TrustedKeys([place.key(place.alice)])
        let new = try TrustedKeys([place.key(place.bob)])
        let whole = try place.place.files()
        let share = TestShare(oneIn: 3)
        let count = try share.count { point in
            try place.place.restore(whole)
            try place.forget(place.alice, place.bob)
            let steps = EndingSteps(after: point, isApplied: point % 2 == 0)
            let failure = refusal {
                try place.publisher(both, ending: steps).rotate(rotation(place))
            }
            for channel in ["beta", "stable"] {
                let pointer = try place.pointer(channel)
                if let version = pointer.trustVersion {
                    let file = try trust(place, version)
                    try file.check(follows: old, 1, of: file.origin)
                    expect(new.judge(pointer).objection == nil, "\(point)")
                } else {
                    expect(old.judge(pointer).objection == nil, "\(point)")
                }
            }
            if failure != nil {
                try place.publisher(both).rotate(rotation(place))
            }
            for channel in ["beta", "stable"] {
                try place.expectSigned(by: place.bob, channel: channel)
            }
            return steps.wereReached
        }
        expect(count > (kind == .directory ? 20 : 5))
    }

    @Test(arguments: places)
    func `does not continue from a version that a stranger has put there`(_ kind: OriginPlace)
        throws
    {
        let place = try signed(kind)
        let both = try place.signing(place.alice, place.bob)
        let origin = try require(try place.pointer().origin)
        let mallory = try place.key(place.mallory)
        func put(_ keys: [VerificationKey], _ version: Int64, by files: [String]) throws {
            var file = TrustFile(
                origin: origin, version: version, trusted: try TrustedKeys(keys), createdAt: 1)
            let signers = try files.map { try KeyFileSigner(file: $0) } as [any PointerSigner]
            file.signatures = try signers.sign(file.signedBytes)
            try place.place.set("trust/\(version).json", file.serialized())
        }
        // In the place of the next one.
        try put([mallory, place.key(place.bob)], 2, by: [place.mallory])
        expectRefusal(.untrusted) { try place.publisher(both).rotate(rotation(place)) }
        try place.place.set("trust/2.json", nil)
        try place.publisher(both).rotate(rotation(place))
        let counts = try require(place.place.bytes("trust/2.json"))
        // In the place of one that counts, where Bob's key remembers nothing: with his own key beside Bob's.
        try place.forget(place.bob)
        try put([mallory, place.key(place.bob)], 2, by: [place.mallory])
        let next = TrustRotation(adding: [try place.key(place.alice)])
        let bob = try place.signing(place.bob)
        expectRefusal(.untrusted) { try place.publisher(bob).rotate(next) }
        try place.place.set("trust/2.json", nil)
        expectRefusal(.untrusted) { try place.publisher(bob).rotate(next) }
        // After one that counts, by keys that do not, or do not any more: no device follows that.
        try place.place.set("trust/2.json", counts)
        let third = try place.place.files()
        for files in [[place.mallory], [place.alice], [place.mallory, place.alice]] {
            try place.place.restore(third)
            try place.forget(place.alice, place.bob)
            try put([mallory], 3, by: files)
            let step = try place.publisher(both).rotate(next)
            try step.file.check(follows: TrustedKeys([place.key(place.bob)]), 2, of: origin)
            try expect(trust(place, 3), equals: step.file)
        }
        // What it says of itself decides nothing, whatever format it claims.
        try place.place.restore(third)
        try place.forget(place.alice, place.bob)
        try place.place.set("trust/3.json", Array("{\"castreeTrust\":9,\"version\":3}".utf8))
        let step = try place.publisher(both).rotate(next)
        try expect(trust(place, 3), equals: step.file)
    }
}
