import OriginTestSupport

@testable import Origin

/// Who signs must be among those that devices ask for: what `trust/N.json` says (docs/signing.md, "What a publisher
/// checks").
@Suite("A publisher whose keys may not count") struct CountedKeysTests {
    @Test(
        "does not adopt by a key that was removed, and continues from the newest version by one that counts",
        arguments: places)
    func adopting(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let first = try place.pointer()
        try place.rotate(place.alice, to: place.bob)
        let rotated = try place.pointer()
        // As it is, and where a stranger has put back what the removed key has signed.
        for pointer in [rotated, first] {
            try place.put(pointer)
            for version in ["1", "2"] {
                expectRefusal(.untrusted, "\(version)", saying: "trust/2.json") {
                    try place.publish(version, place.signing(place.alice) { $0.adopts = true })
                }
            }
            try expect(place.pointer(), equals: pointer)
        }
        try place.publish("2", place.signing(place.bob) { $0.adopts = true })
        try place.expectSigned(by: place.bob)
        try expect(place.pointer().trustVersion, equals: 2)
        // No device would obey it, whoever means it.
        let fewer = try place.signing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) }
        expectRefusal(.untrusted, saying: "trust/2.json") { try place.publish("1", fewer) }
        try place.expectSigned(by: place.bob)
    }

    @Test(arguments: places)
    func `signs by as many keys as devices ask for`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let both = try place.signing(place.alice, place.bob)
        try place.publisher(both).rotate(
            TrustRotation(adding: [place.key(place.bob)], threshold: 2))
        try place.publish("2", both)
        let instead = try place.signing(place.alice, place.mallory) {
            $0.trusted = [try place.key(place.alice), try place.key(place.bob)]
        }
        expectRefusal(.untrusted, saying: "1 of them would") { try place.publish("1", instead) }
        try place.expectSigned(by: place.alice, place.bob)
    }

    // Bob's key counts since a first change, and Alice's is lost: hers has not signed the second one.
    @Test(
        "signs nothing after another key that counted has removed its own, with or without a memory",
        arguments: places, [false, true])
    func removed(_ kind: OriginPlace, _ forgets: Bool) throws {
        let place = try SignedPlace(kind, signed: "1")
        let alice = try place.signing(place.alice)
        try place.publisher(alice).rotate(TrustRotation(adding: [place.key(place.bob)]))
        let earlier = try place.pointer()
        try place.publisher(
            place.signing(place.bob, place.mallory) { $0.trusted = [try place.key(place.alice)] }
        ).rotate(place.rotation(place.alice, to: place.mallory))
        try place.publish("2", place.signing(place.mallory) { $0.adopts = true })
        if forgets { try place.forget(place.alice) }
        let before = try place.place.published()
        let publisher = place.publisher(alice)
        let verbs: [() throws -> Void] = [
            { try place.publish("1", alice) }, { try place.publish("2", alice) },
            { _ = try publisher.resign() }, { _ = try publisher.withdraw(VersionName("2")) },
            { _ = try publisher.pack("1", of: place.place.versions) },
        ]
        for (number, verb) in verbs.enumerated() {
            expectRefusal(.untrusted, "\(number)", saying: "trust/3.json") { try verb() }
        }
        try expect(place.place.published(), equals: before)
        // One that no key of version 2 has signed stops nobody.
        try place.put(earlier)
        var file = try require(place.place.storage().trust(3))
        let bob = try place.key(place.bob).id
        file.signatures.removeAll { $0.key == bob }
        try place.place.set(OriginLayout.trust(3), file.serialized())
        var claimed = earlier
        (claimed.trustVersion, claimed.log) = (3, try require(earlier.log) + 1)
        claimed.sequence += 1
        try place.append(place.signing(place.mallory).sign(claimed, now: 1))
        try place.publish("2", alice)
        try place.expectSigned(by: place.alice)
        try expect(place.pointer().trustVersion, equals: 2)
    }

    @Test(
        "takes no version that a stranger has made, and says whose file is in the way",
        arguments: places)
    func strangers(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let origin = try require(try place.pointer().origin)
        let mallory = try SigningKey(file: place.mallory)
        func write(_ version: Int64, of origin: String, _ keys: [SigningKey]) throws {
            var file = TrustFile(
                origin: origin, version: version,
                trusted: try TrustedKeys(keys.map(\.verificationKey)), createdAt: 1)
            let signature = try mallory.sign(file.signedBytes)
            file.signatures = [.init(key: mallory.verificationKey.id, signature: signature)]
            try place.place.set("trust/\(version).json", file.serialized())
        }
        try write(2, of: origin, [mallory])
        let adopting = try place.signing(place.alice) { $0.adopts = true }
        expectRefusal(.untrusted, saying: "stranger") { try place.publish("2", adopting) }
        // One that nobody would follow is none.
        try write(2, of: String(repeating: "7", count: 32), [mallory])
        try place.publish("2", adopting)
        try expect(place.pointer().trustVersion == nil)
        // A pointer that names what is not there.
        var pointer = try place.pointer()
        pointer.trustVersion = 5
        try place.put(place.signing(place.alice).sign(pointer, now: 1))
        try place.forget(place.alice)
        expectRefusal(.untrusted, saying: "trust/5.json") { try place.publish("1", adopting) }
        let meant = try place.signing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) }
        try place.publish("1", meant)
        try expect(place.pointer().trustVersion == nil)
    }

    /// What whoever has stolen a key may put beside a pointer that names a version of the trust.
    fileprivate enum Planted: CaseIterable { case nothing, junk, ownFile }

    // Whoever has a key may name any version, also where no file of it ever was: devices do not follow that.
    @Test(
        "signs by no version that a stolen key has named until somebody has looked; then the keys can be changed",
        arguments: places, [false, true])
    func stolen(_ kind: OriginPlace, _ isRotated: Bool) throws {
        for named in [isRotated ? 3 : 2, 7, ChannelPointer.sequenceMax] {
            // Nobody knows the first keys: a second version of a stranger's is refused, with what to do.
            for planted in Planted.allCases where named > 2 || planted != .ownFile {
                let place = try SignedPlace(kind, signed: "1")
                if isRotated { try place.rotate(place.alice, to: place.bob) }
                let (key, proved) = isRotated ? (place.bob, Int64(2)) : (place.alice, nil)
                let what = "\(named), \(planted)"
                var pointer = try place.pointer()
                (pointer.trustVersion, pointer.log) = (named, try require(pointer.log) + 1)
                pointer.sequence += 1
                let theft = try place.signing(key)
                try place.put(theft.sign(pointer, now: 1))
                try place.place.set(
                    OriginLayout.trust(named),
                    planted.bytes(named, of: require(pointer.origin), place.mallory))
                let both = try place.signing(key, place.mallory)
                let rotating = TrustRotation(adding: [try place.key(place.mallory)])
                let verbs: [() throws -> Void] = [
                    { try place.publish("2", place.signing(key)) },
                    { _ = try place.publisher(place.signing(key)).resign() },
                    { _ = try place.publisher(place.signing(key) { $0.adopts = true }).resign() },
                    { _ = try place.publisher(both).rotate(rotating) },
                ]
                let advice = "castree resign ORIGIN --adopt --unsigned"
                for verb in verbs {
                    expectRefusal(.untrusted, "\(what)", saying: advice) { try verb() }
                }
                let meant = try place.signing(key) { ($0.adopts, $0.allowsFewer) = (true, true) }
                try place.publisher(meant).resign()
                try place.publish("2", place.signing(key))
                try expect(place.pointer().trustVersion, equals: proved, "\(what)")
                let step = try place.rotate(key, to: place.mallory)
                expect(step.file.version, equals: (proved ?? 1) + 1, "\(what)")
                try place.expectSigned(by: place.mallory)
                try expect(place.pointer().trustVersion, equals: (proved ?? 1) + 1, "\(what)")
                try place.publish("1", place.signing(place.mallory))
            }
        }
    }

    // A thief of a key that counts no more can put an early copy back and change its keys there.
    @Test(
        "signs at once by the version that its key remembers, whatever chain a thief has put there",
        arguments: places)
    func otherChain(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", in: ["beta", "stable"])
        let early = try place.place.files()
        try place.rotate(place.alice, to: place.bob)
        let counts = try place.place.bytes(OriginLayout.trust(2))
        let kept = try Damage.contents(place.memoryFile(place.bob))
        let keys = "\(place.place.store.directory.appending("keys"))/thief"
        try Damage.makeDirectory(keys)
        let stolen = "\(keys)/stolen"
        try SigningKey(file: place.alice).write(to: stolen)
        let thief = try (1...2).map { number in
            try SigningKey.generate().write(to: "\(keys)/\(number)")
            return "\(keys)/\(number)"
        }
        for (rotationCount, keepsFiles) in [(1, true), (2, true), (2, false)] {
            try place.place.restore(early)
            try Damage.overwrite(place.memoryFile(place.bob), with: kept)
            try place.forget(stolen, thief[0], thief[1])
            try place.rotate(stolen, to: thief[0])
            if rotationCount == 2 { try place.rotate(thief[0], to: thief[1]) }
            if !keepsFiles {
                for version: Int64 in [2, 3] {
                    try place.place.set(OriginLayout.trust(version), nil)
                }
            }
            let meant = try place.signing(place.bob) { ($0.adopts, $0.allowsFewer) = (true, true) }
            try place.publisher(meant).resign()
            try expect(place.place.bytes(OriginLayout.trust(2)), equals: counts)
            for channel in ["beta", "stable"] {
                try place.expectSigned(by: place.bob, channel: channel)
                try expect(place.pointer(channel).trustVersion, equals: 2)
            }
            let origin = try require(place.pointer().origin)
            try expect(place.memory(place.bob).trusts(of: origin).map(\.version), equals: [2])
            try place.publish("2", place.signing(place.bob))
        }
        // A key that remembers nothing cannot tell.
        try place.place.restore(early)
        try place.forget(place.bob)
        try place.forget(stolen, thief[0])
        try place.rotate(stolen, to: thief[0])
        let meant = try place.signing(place.bob) { ($0.adopts, $0.allowsFewer) = (true, true) }
        expectRefusal(.untrusted, saying: "trust/2.json") { try place.publisher(meant).resign() }
    }
}

extension CountedKeysTests.Planted {
    fileprivate func bytes(
        _ version: Int64, of origin: String, _ key: String
    ) throws -> [UInt8]? {
        switch self {
        case .nothing: return nil
        case .junk: return Array("junk".utf8)
        case .ownFile:
            let key = try SigningKey(file: key)
            var file = TrustFile(
                origin: origin, version: version,
                trusted: try TrustedKeys([key.verificationKey]), createdAt: 1)
            let signature = try key.sign(file.signedBytes)
            file.signatures = [.init(key: key.verificationKey.id, signature: signature)]
            return file.serialized()
        }
    }
}
