import StorageTestSupport

@testable import HotPush

/// Who signs must be among those that devices ask for: what `trust/N.json` says (docs/signing.md, "What a publisher
/// checks").
@Suite("A publisher whose keys may not count") struct CountedKeysTests {
    private func signed(_ kind: OriginPlace) throws -> SignedPlace {
        let place = try SignedPlace(kind)
        try place.publish("1", place.sealing(place.alice))
        return place
    }

    private func rotate(_ place: SignedPlace, _ rotation: TrustRotation) throws {
        try place.publisher(place.sealing(place.alice, place.bob)).rotate(rotation)
    }

    @Test(
        "does not adopt by a key that was removed, and goes on from the newest version by one that counts",
        arguments: places)
    func adopting(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let first = try place.pointer()
        try rotate(
            place,
            TrustRotation(
                adding: [try place.key(place.bob)], removing: [try place.key(place.alice).id]))
        let rotated = try place.pointer()
        // As it is, and where a stranger has put back what the removed key has signed.
        for pointer in [rotated, first] {
            try place.put(pointer)
            for version in ["1", "2"] {
                let refused = refusal {
                    try place.publish(version, place.sealing(place.alice) { $0.adopts = true })
                }
                expect(refused?.code, equals: .untrusted, "\(version)")
                expect(refused?.message.contains("trust/2.json"), equals: true)
            }
            try expect(place.pointer(), equals: pointer)
        }
        try place.publish("2", place.sealing(place.bob) { $0.adopts = true })
        try place.expectSigned(by: place.bob)
        try expect(place.pointer().trustVersion, equals: 2)
        // Whoever means it may.
        let fewer = try place.sealing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) }
        try place.publish("1", fewer)
        try place.expectSigned(by: place.alice)
    }

    @Test(arguments: places)
    func `signs by as many keys as devices ask for`(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        try rotate(place, TrustRotation(adding: [try place.key(place.bob)], threshold: 2))
        let both = try place.sealing(place.alice, place.bob)
        try place.publish("2", both)
        let instead = try place.sealing(place.alice, place.mallory) {
            $0.trusted = [try place.key(place.alice), try place.key(place.bob)]
        }
        let refused = refusal { try place.publish("1", instead) }
        expect(refused?.code, equals: .untrusted)
        expect(refused?.message.contains("1 of them would"), equals: true)
        try place.expectSigned(by: place.alice, place.bob)
    }

    @Test(
        "takes no version that a stranger has made, and says whose file is in the way",
        arguments: places)
    func strangers(_ kind: OriginPlace) throws {
        let place = try signed(kind)
        let origin = try require(try place.pointer().origin)
        let mallory = try SigningKey(file: place.mallory)
        func write(_ version: Int64, of origin: String, _ keys: [SigningKey]) throws {
            var file = TrustFile(
                origin: origin, version: version,
                trusted: try TrustedKeys(keys.map(\.verificationKey)), createdAt: 1)
            file.signatures = try SignedOrigin.signatures(of: file.signedBytes, by: [mallory])
            try place.place.set("trust/\(version).json", file.serialized())
        }
        try write(2, of: origin, [mallory])
        let adopting = try place.sealing(place.alice) { $0.adopts = true }
        let refused = refusal { try place.publish("2", adopting) }
        expect(refused?.code == .untrusted && refused?.message.contains("stranger") == true)
        // One that nobody would follow is none.
        try write(2, of: String(repeating: "7", count: 32), [mallory])
        try place.publish("2", adopting)
        try expect(place.pointer().trustVersion == nil)
        // A pointer that names what is not there.
        var pointer = try place.pointer()
        pointer.trustVersion = 5
        try place.put(place.sealing(place.alice).sign(pointer, now: 1))
        try place.forget(place.alice)
        let unknown = refusal { try place.publish("1", adopting) }
        expect(unknown?.code == .untrusted && unknown?.message.contains("trust/5.json") == true)
        let meant = try place.sealing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) }
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
                let place = try signed(kind)
                let (alice, bob) = (try place.key(place.alice), try place.key(place.bob))
                if isRotated {
                    try rotate(place, TrustRotation(adding: [bob], removing: [alice.id]))
                }
                let (key, proved) = isRotated ? (place.bob, Int64(2)) : (place.alice, nil)
                let what = "\(named), \(planted)"
                var pointer = try place.pointer()
                (pointer.trustVersion, pointer.log) = (named, try require(pointer.log) + 1)
                pointer.sequence += 1
                let theft = try place.sealing(key)
                try place.put(theft.sign(pointer, now: 1))
                try place.place.set(
                    OriginLayout.trust(named),
                    planted.bytes(named, of: require(pointer.origin), place.mallory))
                let both = try place.sealing(key, place.mallory)
                let rotating = TrustRotation(adding: [try place.key(place.mallory)])
                let verbs: [() throws -> Void] = [
                    { try place.publish("2", place.sealing(key)) },
                    { _ = try place.publisher(place.sealing(key)).resign() },
                    { _ = try place.publisher(place.sealing(key) { $0.adopts = true }).resign() },
                    { _ = try place.publisher(both).rotate(rotating) },
                ]
                for verb in verbs {
                    let refused = refusal(verb)
                    expect(refused?.code, equals: .untrusted, "\(what)")
                    let advice = "castree resign ORIGIN --adopt --unsigned"
                    expect(refused?.message.contains(advice) == true, "\(refused?.message ?? "")")
                }
                let meant = try place.sealing(key) { ($0.adopts, $0.allowsFewer) = (true, true) }
                try place.publisher(meant).resign()
                try place.publish("2", place.sealing(key))
                try expect(place.pointer().trustVersion, equals: proved, "\(what)")
                let rotation = TrustRotation(
                    adding: [try place.key(place.mallory)],
                    removing: [isRotated ? bob.id : alice.id])
                let step = try place.publisher(both).rotate(rotation)
                expect(step.file.version, equals: (proved ?? 1) + 1, "\(what)")
                try place.expectSigned(by: place.mallory)
                try expect(place.pointer().trustVersion, equals: (proved ?? 1) + 1, "\(what)")
                try place.publish("1", place.sealing(place.mallory))
            }
        }
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
            file.signatures = try SignedOrigin.signatures(of: file.signedBytes, by: [key])
            return file.serialized()
        }
    }
}
