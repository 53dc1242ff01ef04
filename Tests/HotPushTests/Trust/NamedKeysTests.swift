import StorageTestSupport

@testable import HotPush

/// Keys that somebody names, of an origin whose keys have changed since (docs/signing.md, "On the device").
@Suite("Named keys of an origin that rotates") struct NamedKeysTests {
    private let origin: SignedOrigin
    /// Keys of devices: the second was stolen, and removed by version 3.
    private let (stolen, next, added): (SigningKey, SigningKey, SigningKey)
    private var root: SigningKey { origin.keys[0] }

    init() throws {
        origin = try SignedOrigin()
        stolen = try SigningKey.generate()
        next = try SigningKey.generate()
        added = try SigningKey.generate()
        try origin.write(2, [root, stolen], by: [root, stolen])
        try origin.write(3, [root, next], by: [root, next])
    }

    @Test func `are not led to an older version, which has keys that were removed since`() throws {
        try origin.trust([root.verificationKey, next.verificationKey])
        try origin.offer("1", trust: 2, by: stolen)
        try origin.expectUntrusted()
        let given = try SignedOrigin.given(root, next)
        try origin.expectUntrusted { $0.trust = given }
        try origin.offer("1", trust: 3, by: next)
        try expect(origin.pull()?.version, equals: "1")
        try expect(origin.trusted?.version, equals: 3)
    }

    @Test func `change nothing of how far the device was, by hand and by an app`() throws {
        try origin.offer("1", trust: 3, by: next)
        _ = try origin.pull()
        try expect(origin.trusted?.version, equals: 3)
        let given = try SignedOrigin.given(root, added)
        try origin.offer("2", trust: 2, by: stolen)
        try origin.expectUntrusted { $0.trust = given }
        // By hand, as 'trust remove' does it: what was taken out stays out.
        try origin.device.versions.changeTrust { (trust) throws(StoreError) in
            trust.origins[0].keys = [root.verificationKey, added.verificationKey]
            trust.origins[0].forgetVersion()
        }
        for (version, key) in [(Int64(2), stolen), (2, root), (3, next)] {
            try origin.offer("2", trust: version, by: key)
            try origin.expectUntrusted()
        }
        try origin.offer("2", trust: 3, by: added)
        try expect(origin.pull()?.version, equals: "2")
        try expect(origin.trusted?.version, equals: 3)
        try expect(origin.trusted?.keys.contains(added.verificationKey), equals: true)
    }

    @Test func `that sign a later version are followed by its spare keys`() throws {
        try origin.trust([root.verificationKey])
        try origin.offer("1", trust: 2, by: root)
        try expect(origin.pull()?.version, equals: "1")
        let keys = try origin.trusted?.keys ?? []
        expect(Set(keys), equals: [root.verificationKey, stolen.verificationKey])
        // The spare one alone replaces the one that was named.
        try origin.write(3, [next, stolen], by: [stolen, next])
        try origin.offer("2", trust: 3, by: next)
        try expect(origin.pull()?.version, equals: "2")
        try expect(origin.trusted?.version, equals: 3)
    }

    @Test func `of which a version does not know count on, whatever version they sign`() throws {
        try origin.trust([root.verificationKey, added.verificationKey])
        for version in ["1", "2"] {
            try origin.offer(version, trust: 3, by: root)
            try expect(origin.pull()?.version, equals: version)
            try expect(origin.trusted?.version == nil)
            try expect(origin.trusted?.keys.count, equals: 2)
        }
    }

    @Test func `of an app that is behind the device lead to where the device is`() throws {
        try origin.write(4, [added], by: [root, added])
        let first = try SignedOrigin.given(root)
        try origin.offer("1", trust: 4, by: added)
        try expect(origin.pull { $0.trust = first }?.version, equals: "1")
        let update = try SignedOrigin.given(root, next)
        try origin.offer("2", trust: 4, by: added)
        try expect(origin.pull { $0.trust = update }?.version, equals: "2")
        try expect(origin.trusted?.version, equals: 4)
    }

    @Test("of a version that is named with them count for no older one, and lead on from it")
    func named() throws {
        // The root key signed version 1, too, and a genuine pointer of that time is played again.
        let old = try origin.signed(origin.publish("1"), by: [root])
        let given = try SignedOrigin.given(root, next, version: 3)
        func named(_ floor: Int64 = 0) throws {
            try origin.trust([root.verificationKey, next.verificationKey])
            try origin.device.versions.changeTrust { (trust) throws(StoreError) in
                trust.origins[0].version = 3
                trust.origins[0].floor = floor
            }
        }
        try named()
        origin.write(old, at: SignedOrigin.pointer)
        try origin.expectUntrusted()
        try origin.offer("1", trust: 2, by: stolen)
        try origin.expectUntrusted()
        try origin.device.versions.changeTrust { (trust) throws(StoreError) in trust.origins = [] }
        origin.write(old, at: SignedOrigin.pointer)
        try origin.expectUntrusted { $0.trust = given }
        try origin.offer("1", trust: 3, by: next)
        try expect(origin.pull { $0.trust = given }?.version, equals: "1")
        try expect(origin.trusted?.version, equals: 3)
        // From there on rotations are followed, and what the app names is no way back.
        try origin.write(4, [added], by: [root, added])
        try origin.offer("2", trust: 4, by: added)
        try expect(origin.pull { $0.trust = given }?.version, equals: "2")
        try expect(origin.trusted?.version, equals: 4)
        let earlier = try SignedOrigin.given(root, version: 1)
        origin.write(old, at: SignedOrigin.pointer)
        try origin.expectUntrusted { $0.trust = earlier }
        expectRefusal(.badKey) { try SignedOrigin.given(version: 0) }
    }

    @Test func `cost few requests, however many versions somebody claims`() throws {
        try origin.trust([added.verificationKey])
        for version in Int64(2)...40 {
            try origin.write(version, [origin.stranger], by: [origin.stranger])
        }
        for version in [40, Int64(1) << 53 - 1] {
            try origin.offer("1", trust: version, by: origin.stranger)
            let before = origin.requests.count { $0.path.contains("/trust/") }
            try origin.expectUntrusted()
            let count = origin.requests.count { $0.path.contains("/trust/") } - before
            expect(count <= 2 * Int(PointerVerdict.soughtCountMax))
        }
    }
}
