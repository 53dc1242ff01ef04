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
        let unknown = refusal { try place.publish("1", adopting) }
        expect(unknown?.code == .untrusted && unknown?.message.contains("trust/5.json") == true)
        let meant = try place.sealing(place.alice) { ($0.adopts, $0.allowsFewer) = (true, true) }
        try place.publish("1", meant)
        try expect(place.pointer().trustVersion == nil)
    }
}
