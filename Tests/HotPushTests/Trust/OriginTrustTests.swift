import StorageTestSupport

@testable import HotPush

/// Who reads an origin for others, such as `castree origin serve --trust`, while its keys change.
@Suite("A reader that trusts keys") struct OriginTrustTests {
    private let keys: [SigningKey]

    init() throws { keys = try (0..<3).map { _ throws(StoreError) in try SigningKey.generate() } }

    private func pointer(
        _ channel: String, _ sequence: Int64, _ version: Int64?, by keys: SigningKey...
    ) throws -> ChannelPointer {
        var pointer = ChannelPointer.empty(try ChannelName(channel), now: 100)
        pointer.sequence = sequence
        pointer.origin = SignedOrigin.id
        pointer.trustVersion = version
        pointer.signatures = try SignedOrigin.signatures(of: pointer.signedBytes, by: keys)
        return pointer
    }

    /// Version N has key N alone, and is signed by the one before.
    private func file(_ version: Int64) throws -> TrustFile {
        let (old, new) = (keys[Int(version) - 2], keys[Int(version) - 1])
        var file = TrustFile(
            origin: SignedOrigin.id, version: version,
            trusted: try TrustedKeys([new.verificationKey]), createdAt: 1)
        file.signatures = try SignedOrigin.signatures(of: file.signedBytes, by: [old, new])
        return file
    }

    private func read(_ version: Int64) throws(StoreError) -> TrustFile {
        do {
            return try file(version)
        } catch let error as StoreError {
            throw error
        } catch {
            throw StoreError(.io, "\(error)")
        }
    }

    @Test
    func `follows from one version to the next, and takes nothing of an older one back`() throws {
        let trust = try OriginTrust([keys[0].verificationKey])
        try trust.admit(pointer("stable", 5, nil, by: keys[0]), reading: read)
        try trust.admit(pointer("stable", 6, 3, by: keys[2]), reading: read)
        for (sequence, version, key) in [
            (7, nil, keys[0]), (7, 2, keys[1]), (5, 3, keys[2]), (7, 3, keys[1]),
        ] as [(Int64, Int64?, SigningKey)] {
            let pointer = try pointer("stable", sequence, version, by: key)
            expectRefusal(.untrusted) { try trust.admit(pointer, reading: read) }
            // Nor in a channel that it has not seen: its publisher signs all of them anew.
            guard sequence == 7 else { continue }
            let other = try self.pointer("beta", sequence, version, by: key)
            expectRefusal(.untrusted) { try trust.admit(other, reading: read) }
        }
        try trust.admit(pointer("beta", 1, 3, by: keys[2]), reading: read)
    }

    @Test func `does not go back because another thread was slower`() throws {
        let trust = try OriginTrust([keys[0].verificationKey])
        let (slow, fast) = (
            try pointer("beta", 1, 2, by: keys[1]), try pointer("stable", 9, 3, by: keys[2])
        )
        // While one thread reads version 2, another has followed to version 3.
        expectRefusal(.untrusted) {
            try trust.admit(slow) { (version) throws(StoreError) in
                try trust.admit(fast, reading: read)
                return try read(version)
            }
        }
        let old = try pointer("gamma", 1, 2, by: keys[1])
        expectRefusal(.untrusted) { try trust.admit(old, reading: read) }
        let older = try pointer("stable", 8, 3, by: keys[2])
        expectRefusal(.untrusted) { try trust.admit(older, reading: read) }
    }

    @Test("that begins with the keys of a version takes nothing older, and follows from there")
    func version() throws {
        // Two keys of version 2, of which the first has signed before it, too.
        let named = keys[0...1].map(\.verificationKey)
        let old = try pointer("stable", 9, nil, by: keys[0])
        try OriginTrust(named).admit(old, reading: read)
        let trust = try OriginTrust(named, version: 2)
        expectRefusal(.untrusted, saying: "back to version 1") {
            try trust.admit(old, reading: read)
        }
        try trust.admit(pointer("stable", 5, 2, by: keys[0]), reading: read)
        // Whom the keys have signed for, and nobody else: version 3 follows from them.
        let stranger = try SigningKey.generate()
        for (sequence, version, key) in [
            (6, 1, keys[1]), (6, 2, stranger), (6, 3, stranger), (4, 2, keys[1]),
        ] as [(Int64, Int64, SigningKey)] {
            let pointer = try pointer("stable", sequence, version == 1 ? nil : version, by: key)
            expectRefusal(.untrusted) { try trust.admit(pointer, reading: read) }
        }
        try trust.admit(pointer("stable", 6, 3, by: keys[2]), reading: read)
        // They are all keys of the version that is named: its file is not asked for again.
        let three = try OriginTrust([keys[2].verificationKey], version: 3)
        try three.admit(pointer("stable", 6, 3, by: keys[2])) { (_) throws(StoreError) in
            throw StoreError(.io, "read")
        }
        expectRefusal(.untrusted) {
            try three.admit(pointer("stable", 7, 2, by: keys[1], keys[2]), reading: read)
        }
    }
}
