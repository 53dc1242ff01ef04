import StorageTestSupport

@testable import HotPush

/// Keys that change: each version of an origin's trust is proved by the one before.
@Suite("Rotated keys") struct RotationTests {
    private let origin: SignedOrigin
    private let (second, third): (SigningKey, SigningKey)

    init() throws {
        origin = try SignedOrigin()
        second = try SigningKey.generate()
        third = try SigningKey.generate()
        try origin.offer("1")
        _ = try origin.pull()
    }

    @Test
    func `are followed one version after the other, and the old ones count no longer`() throws {
        let first = origin.keys[0]
        try origin.write(2, [second], by: [first, second])
        try origin.write(3, [third, second], threshold: 2, by: [second, third])
        try origin.offer("2", trust: 3, by: second, third)
        try expect(origin.pull()?.version, equals: "2")
        let trusted = try require(try origin.trusted)
        expect(trusted.version == 3 && trusted.threshold == 2)
        expect(Set(trusted.keys), equals: [second.verificationKey, third.verificationKey])
        try expect(origin.sentences().count { $0.contains("trusts version") }, equals: 2)
        // Nothing of it is asked for again.
        let count = origin.requests.count { $0.path.contains("/trust/") }
        expect(count, equals: 2)
        _ = try origin.pull()
        expect(origin.requests.count { $0.path.contains("/trust/") }, equals: count)
        try origin.offer("1", trust: 3, by: first)
        expectRefusal(.untrusted) { try origin.pull() }
    }

    @Test func `are followed as far as a publisher looks at them, and no chain without an end`()
        throws
    {
        let key = origin.keys[0]
        let last = TrustFile.followedMax + 1
        for version in 2...last + 1 { try origin.write(version, [key], by: [key]) }
        try origin.offer("2", trust: last + 1, by: key)
        expectRefusal(.untrusted) { try origin.pull() }
        expect(!origin.requests.contains { $0.path.contains("/trust/") })
        try origin.offer("1", trust: last, by: key)
        try expect(origin.pull()?.version, equals: "1")
        try expect(origin.trusted?.version, equals: last)
    }

    @Test func `are refused unless the keys before say so`() throws {
        let (first, stranger) = (origin.keys[0], origin.stranger)
        let ways: [(String, () throws -> Void)] = [
            ("signed by the new key only", { try origin.write(2, [stranger], by: [stranger]) }),
            ("signed by the old key only", { try origin.write(2, [stranger], by: [first]) }),
            (
                "of another origin",
                {
                    try origin.write(
                        2, [stranger], by: [first, stranger], of: SignedOrigin.otherID)
                }
            ),
            (
                "another version under its name",
                {
                    try origin.write(
                        3, [stranger], by: [first, stranger], at: OriginLayout.trust(2))
                }
            ),
            ("missing", { origin.write(nil, at: OriginLayout.trust(2)) }),
            ("no JSON", { origin.write(Array("{".utf8), at: OriginLayout.trust(2)) }),
        ]
        try origin.offer("2", trust: 2, by: stranger)
        let state = try origin.state()
        for (name, write) in ways {
            try write()
            expectRefusal(.untrusted, "\(name)") { try origin.pull() }
            try expect(origin.state(), equals: state, "\(name)")
        }
    }

    @Test func `may not skip a version, and never go back`() throws {
        let first = origin.keys[0]
        // Version 3 follows version 2, which nobody has.
        try origin.write(3, [second], by: [first, second])
        try origin.offer("2", trust: 3, by: second)
        try origin.expectUntrusted()
        try origin.write(2, [first, second], by: [first, second])
        try origin.write(3, [first, second], by: [first, second])
        try origin.offer("2", trust: 3, by: second)
        try expect(origin.pull()?.version, equals: "2")
        // Signed by a key that still counts, and from before the rotation.
        for version in [Int64?.none, 2] {
            try origin.offer("1", trust: version, by: first)
            try origin.expectUntrusted()
        }
    }

    @Test func `are kept with a pointer that counts only: junk moves no device on`() throws {
        try origin.write(2, [second], by: [origin.keys[0], second])
        for (version, key) in [(Int64(2), origin.stranger), (3, third)] {
            try origin.offer("2", trust: version, by: key)
            try origin.expectUntrusted()
        }
        try origin.write(3, [third], by: [second, third])
        try expect(origin.pull()?.version, equals: "2")
        try expect(origin.trusted?.version, equals: 3)
    }

    @Test func `find a device whose key somebody has named, of whichever version it is`() throws {
        try origin.write(2, [second], by: [origin.keys[0], second])
        try origin.write(3, [third], by: [second, third])
        try origin.offer("2", trust: 3, by: third)
        for key in [origin.keys[0], second, third] {
            try origin.trust([key.verificationKey])
            try expect(origin.trusted?.version == nil)
            _ = try origin.pull()
            try expect(origin.trusted?.version, equals: 3)
            try expect(origin.trusted?.keys, equals: [third.verificationKey])
        }
    }

    @Test func `outlive the app that names the first ones, until it names others`() throws {
        let given = try SignedOrigin.given(origin.keys[0])
        try expect(origin.pull { $0.trust = given }?.version, equals: "1")
        try origin.write(2, [second], by: [origin.keys[0], second])
        try origin.offer("2", trust: 2, by: second)
        try expect(origin.pull { $0.trust = given }?.version, equals: "2")
        try expect(origin.trusted?.keys, equals: [second.verificationKey])
        try expect(origin.pull { $0.trust = given }?.isUnchanged, equals: true)
        let sequence = try origin.trusted?.sequences["stable"]
        // All keys are lost: an update of the app brings the next.
        let anew = try SignedOrigin.given(third)
        expectRefusal(.untrusted) { try origin.pull { $0.trust = anew } }
        try origin.offer("1", trust: 2, by: third)
        try expect(origin.pull { $0.trust = anew }?.version, equals: "1")
        try expect(origin.trusted?.sequences["stable"], equals: sequence.map { $0 + 1 })
    }

    @Test func `of an app are read before anything is asked, and say what is wrong`() throws {
        let (first, private_) = (origin.keys[0].verificationKey.pem, "-----BEGIN PRIVATE KEY-----")
        for (keys, threshold, id) in [
            ([], 1, SignedOrigin.id), ([first], 2, SignedOrigin.id), ([first], 0, SignedOrigin.id),
            ([first, first], 1, SignedOrigin.id), ([private_], 1, SignedOrigin.id),
            ([first], 1, "app"),
        ] {
            var options = UpdateOptions()
            expectRefusal(.badKey) { try options.trust(keys, threshold: threshold, origin: id) }
        }
        var options = UpdateOptions()
        try options.trust([first], origin: SignedOrigin.id)
        expect(options.trusted?.trusted.threshold, equals: 1)
    }
}
