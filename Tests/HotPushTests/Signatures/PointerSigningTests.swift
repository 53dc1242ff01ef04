import StorageTestSupport

@testable import HotPush

@Suite("A signed pointer") struct PointerSigningTests {
    static let digits = String(repeating: "ab", count: 32)
    static let origin = String(repeating: "0c", count: 16)

    let (alice, bob): (SigningKey, SigningKey)

    init() throws {
        let keys = [try SigningKey.generate(), try SigningKey.generate()].sorted {
            $0.verificationKey.id < $1.verificationKey.id
        }
        (alice, bob) = (keys[0], keys[1])
    }

    /// A pointer with a release and fields that castree does not know.
    static func text(_ more: String = "") -> String {
        """
        {"castreeChannel":1,"channel":"stable","createdAt":9,"expiresAt":1766600000,"note":{"a":[1,-2]},\
        "origin":"\(origin)","releases":[{"content":"\(digits)","createdAt":5,"manifest":"\(digits)",\
        "manifestBytes":120,"sequence":7,"version":"1.0"}],"sequence":8\(more)}
        """
    }

    static func pointer(_ text: String = text()) throws -> ChannelPointer {
        try ChannelPointer(parsing: Array(text.utf8), of: .stable)
    }

    private func signed(_ text: String = text(), by keys: SigningKey...) throws -> ChannelPointer {
        var pointer = try Self.pointer(text)
        for key in keys {
            pointer.signatures.append(
                PointerSignature(
                    key: key.verificationKey.id, signature: try key.sign(pointer.signedBytes)))
        }
        return pointer
    }

    private func parse(_ bytes: [UInt8]) throws(StoreError) -> ChannelPointer {
        try ChannelPointer(parsing: bytes, of: .stable)
    }

    private func trusted(_ threshold: Int = 1) throws -> TrustedKeys {
        try TrustedKeys([bob.verificationKey, alice.verificationKey], threshold: threshold)
    }

    @Test(
        "signs a line that says what it is, and the pointer in the canonical form without signatures"
    )
    func signedBytes() throws {
        let pointer = try signed(by: alice, bob)
        let wanted = "castree-pointer 1\n" + Self.text()
        expect(String(decoding: pointer.signedBytes, as: UTF8.self), equals: wanted)
    }

    @Test
    func `is read and written without a byte of difference, and each key verifies it`() throws {
        let pointer = try signed(by: alice, bob)
        let read = try parse(pointer.serialized())
        expect(read == pointer && read.serialized() == pointer.serialized())
        expect(read.origin == Self.origin && read.expiresAt == 1_766_600_000)
        let ids = [alice.verificationKey.id, bob.verificationKey.id]
        try expect(trusted().signers(of: read), equals: ids)
        try expect(trusted(2).judge(read, of: Self.origin), equals: .init(signers: ids))
    }

    @Test func `with one flipped bit anywhere is refused, or nobody trusts it`() throws {
        let pointer = try signed(by: alice)
        let bytes = pointer.serialized()
        let keys = try TrustedKeys([alice.verificationKey])
        let share = TestShare(oneIn: 8, of: #function)
        let passed = share.count { position in
            guard position < bytes.count * 8 else { return false }
            var wrong = bytes
            wrong[position / 8] ^= 1 << UInt8(position % 8)
            // Most are no pointer any more.
            if let read = try? parse(wrong), keys.judge(read).objection == nil {
                Issue.record("bit \(position) may be flipped")
            }
            return true
        }
        expect(passed > 500)
    }

    @Test func `of which other readers of JSON would see other values is refused`() throws {
        let right = String(decoding: try signed(by: alice).serialized(), as: UTF8.self)
        func replacing(_ old: String, _ new: String) -> String {
            right.replacingOccurrences(of: old, with: new)
        }
        let texts = [
            String(right.dropLast()), right + "\n", " " + right,
            replacing("\"sequence\":8", "\"sequence\": 8"),
            replacing("\"channel\":\"stable\"", "\"channel\":\"st\\u0061ble\""),
            replacing("\"sequence\":8", "\"sequence\":8,\"sequence\":8"),
            replacing("\"sequence\":8", "\"sequence\":8,\"zeta\":1,\"alpha\":1"),
            replacing("\"version\":\"1.0\"", "\"version\":\"1.0\",\"mandatory\":false"),
            replacing("\"createdAt\":9,", "").replacingOccurrences(
                of: "{\"castreeChannel\":1,", with: "{\"createdAt\":9,\"castreeChannel\":1,"),
        ]
        for text in texts {
            expectRefusal(.badPointer, "\(text)") { try parse(Array(text.utf8)) }
        }
    }

    @Test func `has no number that readers take for different ones, and says its origin`() throws {
        for number in ["1.5", "1.0", "1e3", "-0", "9007199254740992", "-9007199254740992"] {
            let text = Self.text().replacingOccurrences(of: "[1,-2]", with: "[\(number)]")
            let pointer = try Self.pointer(text)
            expect(pointer.objectionToSigning != nil, "\(number)")
            // Somebody has signed it all the same.
            expectRefusal(.badPointer, "\(number)") {
                try parse(try signed(text, by: alice).serialized())
            }
        }
        for number in ["9007199254740991", "-9007199254740991", "0"] {
            let text = Self.text().replacingOccurrences(of: "[1,-2]", with: "[\(number)]")
            try expect(Self.pointer(text).objectionToSigning == nil)
            _ = try parse(try signed(text, by: alice).serialized())
        }
        let text = Self.text().replacingOccurrences(of: "\"origin\":\"\(Self.origin)\",", with: "")
        expectRefusal(.badPointer) { try parse(try signed(text, by: alice).serialized()) }
    }

    @Test("has one to eight signatures, sorted by key, each key once, each in one spelling")
    func signatures() throws {
        let pointer = try signed(by: alice, bob)
        let (one, other) = (pointer.signatures[0], pointer.signatures[1])
        func refused(_ signatures: [PointerSignature]) throws -> Bool {
            var wrong = pointer
            wrong.signatures = signatures
            return refusal { try parse(wrong.serialized()) }?.code == .badPointer
        }
        try expect(refused([other, one]) && refused([one, one]))
        let many = (0..<9).map {
            PointerSignature(key: "000000000000000\($0)", signature: one.signature)
        }
        try expect(refused(many))
        try expect(!refused(Array(many.dropLast())))
        for wrong in [Array(one.signature.dropLast()), one.signature + [0], []] {
            try expect(refused([PointerSignature(key: one.key, signature: wrong)]))
        }
        let (key, value) = (one.key, Base64.string(one.signature))
        let lists = [
            "[]", "{}", "null", "[null]", "[{\"key\":\"\(key)\"}]",
            "[{\"signature\":\"\(value)\"}]",
            "[{\"key\":\"\(key.uppercased())A\",\"signature\":\"\(value)\"}]",
            "[{\"key\":\"\(key)\",\"more\":1,\"signature\":\"\(value)\"}]",
            "[{\"key\":\"\(key)\",\"signature\":\"\(value.dropLast(2))\"}]",
            "[{\"key\":\"\(key)\",\"signature\":\"\(value.dropLast(3))B==\"}]",
        ]
        for list in lists {
            let text = Self.text(",\"signatures\":\(list)") + "\n"
            expectRefusal(.badPointer, "\(list)") { try parse(Array(text.utf8)) }
        }
    }

    @Test func `has an origin, a trust and an expiry that are in range`() throws {
        let fields = [
            ("origin", "\"\(Self.origin.uppercased())\""), ("origin", "\"\(Self.origin)0\""),
            ("origin", "1"), ("trustVersion", "1"), ("trustVersion", "\"2\""),
            ("expiresAt", "-1"), ("expiresAt", "9007199254740992"),
        ]
        for (field, value) in fields {
            let text = ChannelPointerTests.pointer("", more: ",\"\(field)\":\(value)")
            expectRefusal(.badPointer, "\(field) \(value)") { try parse(Array(text.utf8)) }
        }
    }

    @Test("counts only by different keys that are trusted, and says of each other what it is")
    func thresholds() throws {
        let pointer = try signed(by: alice)
        let (one, two) = (alice.verificationKey.id, bob.verificationKey.id)
        let shortage = "1 of 2 trusted keys have signed it"
        try expect(trusted(2).judge(pointer), equals: .init(objection: shortage))
        // One key's signature under the name of another is not the other's.
        var renamed = pointer
        renamed.signatures.append(
            PointerSignature(key: two, signature: pointer.signatures[0].signature))
        try expect(
            trusted(2).judge(renamed),
            equals: .init(
                objection: "\(shortage); the signature of key \(two) is not of this pointer"))
        let stranger = try TrustedKeys([bob.verificationKey])
        expect(
            stranger.judge(pointer),
            equals: .init(objection: "key \(one) has signed it and is not trusted"))
        try expect(trusted().judge(Self.pointer()), equals: .init(objection: "it is not signed"))
        try expect(
            trusted().judge(pointer, of: String(repeating: "1", count: 32)),
            equals: .init(objection: "it belongs to another origin (\(Self.origin))"))
        // A stranger's signature beside it takes nothing away.
        var joined = pointer
        joined.signatures.append(
            PointerSignature(key: "ffffffffffffffff", signature: pointer.signatures[0].signature))
        try expect(trusted().judge(joined), equals: .init(signers: [one]))
    }

    @Test func `of one channel says nothing in another`() throws {
        let bytes = try signed(by: alice).serialized()
        expectRefusal(.badPointer) { try ChannelPointer(parsing: bytes, of: ChannelName("beta")) }
        var moved = try signed(by: alice)
        moved.channel = try ChannelName("beta")
        try expect(trusted().judge(moved).objection != nil)
    }

    @Test func `loses its signatures with every change`() throws {
        let pointer = try signed(by: alice)
        let release = try require(pointer.releases.first)
        let changed: [ChannelPointer?] = [
            pointer.renewed(now: 10), pointer.offering(release, now: 10),
            try pointer.withdrawing(VersionName("1.0"), now: 10),
            pointer.delivering(
                try require(release.version?.manifest),
                by: PublishedDelivery(address: try address(of: "d"), byteCount: 3), now: 10),
        ]
        for (index, pointer) in changed.enumerated() {
            guard let pointer else { continue }
            expect(!pointer.isSigned && pointer.origin == Self.origin, "\(index)")
        }
        expect(changed[0] != nil && changed[2] != nil && changed[3] != nil)
    }
}

@Suite("Trusted keys") struct TrustedKeysTests {
    @Test func `are one to eight different ones, and a threshold that they can reach`() throws {
        let keys = try (0..<9).map { _ in try SigningKey.generate().verificationKey }
        for (count, threshold) in [(0, 1), (9, 1), (2, 0), (2, 3), (2, -1)] {
            expectRefusal(.badKey, "\(count) \(threshold)") {
                try TrustedKeys(Array(keys.prefix(count)), threshold: threshold)
            }
        }
        expectRefusal(.badKey) { try TrustedKeys([keys[0], keys[0]], threshold: 2) }
        let eight = try TrustedKeys(Array(keys.prefix(8)), threshold: 8)
        expect(eight.keys.map(\.id), equals: keys.prefix(8).map(\.id).sorted())
    }
}
