import StorageTestSupport

@testable import HotPush

/// Trusted places that say they are the same origin: none of them is forgotten because of it.
@Suite("Two trusted places and one id") struct TwoPlacesTests {
    private let origin: SignedOrigin
    private let other = "https://other.example/app"

    init() throws {
        origin = try SignedOrigin(isTrusted: false)
        try origin.offer("1")
    }

    /// Trusts a key for another place, and the origin's key for its own, in either order.
    private func trust(_ key: SigningKey, id: String?, isLast: Bool) throws {
        let own = try OriginReference(parsing: origin.url).location.trustPlace
        var there = TrustedOrigin(
            places: [other], id: id, keys: [key.verificationKey], threshold: 1)
        if id != nil { (there.sequences, there.version) = (["beta": 7], 1) }
        let here = TrustedOrigin(
            places: [own], id: nil, keys: origin.keys.map(\.verificationKey), threshold: 1)
        try origin.device.versions.changeTrust { (trust) throws(StoreError) in
            trust.origins = []
            for entry in isLast ? [here, there] : [there, here] { try trust.put(entry) }
        }
    }

    @Test
    func `become one, which keeps what was verified, if the keys of both have signed`() throws {
        for isLast in [false, true] {
            try trust(origin.keys[0], id: SignedOrigin.id, isLast: isLast)
            _ = try origin.pull()
            let origins = try origin.device.reopened().trust().origins
            expect(origins.count == 1 && origins[0].id == SignedOrigin.id)
            expect(origins[0].isAt(other) && origins[0].places.count == 2)
            expect(origins[0].sequences["beta"] == 7 && origins[0].sequences["stable"] != nil)
        }
        origin.write(try origin.publish("2").serialized(), at: SignedOrigin.pointer)
        expectRefusal(.untrusted) { try origin.pull() }
    }

    @Test func `stay two, and nothing is taken, if the other's keys have not signed`() throws {
        for isLast in [false, true] {
            try trust(origin.stranger, id: SignedOrigin.id, isLast: isLast)
            try origin.expectUntrusted()
        }
    }

    @Test func `stay two with ids of their own`() throws {
        try trust(origin.keys[0], id: SignedOrigin.otherID, isLast: false)
        _ = try origin.pull()
        let origins = try origin.device.reopened().trust().origins
        expect(origins.map(\.id), equals: [SignedOrigin.otherID, SignedOrigin.id])
        expect(origins.map(\.places.count), equals: [1, 1])
    }
}
