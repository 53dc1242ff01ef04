import CCrypto

/// A running digest through libcrypto, reusable for any number of messages; used by one thread at a time.
package struct Digester: ~Copyable {
    package let algorithm: DigestAlgorithm
    /// SHA-256 by old functions: the new ones first list all algorithms, which costs short processes a millisecond.
    private var sha256 = SHA256_CTX()
    private var checksum = CRC32()
    private let other: Other?

    private struct Other {
        let context: OpaquePointer
        let method: OpaquePointer
    }

    /// - Throws: `.unsupported` when libcrypto does not offer the digest here, `.outOfMemory`.
    package init(_ algorithm: DigestAlgorithm) throws(StoreError) {
        let other =
            algorithm == .sha256 || algorithm == .crc32 ? nil : try Self.fetch(algorithm)
        self.algorithm = algorithm
        self.other = other
        reset()
    }

    // Fetching the method once is three times faster for small messages than EVP_Digest (EVP_DigestInit(3), NOTES).
    private static func fetch(_ algorithm: DigestAlgorithm) throws(StoreError) -> Other {
        guard let method = EVP_MD_fetch(nil, algorithm.name, nil) else {
            throw StoreError(
                .unsupported, "libcrypto has no \(algorithm.name) here; check its configuration")
        }
        guard let context = EVP_MD_CTX_new() else {
            EVP_MD_free(method)
            throw StoreError(.outOfMemory, "unable to prepare a digest: out of memory")
        }
        return Other(context: context, method: method)
    }

    package static func digest(
        _ algorithm: DigestAlgorithm, of bytes: [UInt8]
    ) throws(StoreError) -> [UInt8] {
        var digester = try Digester(algorithm)
        bytes.withUnsafeBytes { digester.update($0) }
        return digester.finish { Array($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        let done: Int32
        switch algorithm {
        case .crc32:
            checksum.update(bytes)
            return
        case .sha256: done = castree_sha256_update(&sha256, bytes.baseAddress, bytes.count)
        default: done = EVP_DigestUpdate(other?.context, bytes.baseAddress, bytes.count)
        }
        precondition(done == 1, "libcrypto failed to add to a digest")
    }

    /// Ends the message, calls `body` with its digest and begins the next message.
    package mutating func finish<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeTemporaryAllocation(byteCount: 64, alignment: 8) { target in
            let start = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
            var done: Int32 = 1
            switch algorithm {
            case .crc32:
                target.storeBytes(of: checksum.value.bigEndian, as: UInt32.self)
            case .sha256: done = castree_sha256_final(start, &sha256)
            default: done = EVP_DigestFinal_ex(other?.context, start, nil)
            }
            precondition(done == 1, "libcrypto failed to end a digest")
            reset()
            return body(UnsafeRawBufferPointer(rebasing: target[..<algorithm.byteCount]))
        }
    }

    package mutating func reset() {
        if let other {
            EVP_DigestInit_ex(other.context, other.method, nil)
        } else {
            castree_sha256_init(&sha256)
            checksum = CRC32()
        }
    }

    deinit {
        guard let other else { return }
        EVP_MD_CTX_free(other.context)
        EVP_MD_free(other.method)
    }
}

/// Keyed digests (RFC 2104) by SHA-256.
package enum HMAC {
    /// The block size of SHA-256 (FIPS 180-4, section 1).
    private static let blockByteCount = 64

    package static func sha256(
        key: some Sequence<UInt8>, _ message: some Sequence<UInt8>
    ) throws(StoreError) -> [UInt8] {
        var block = Array(key)
        if block.count > blockByteCount { block = try Digester.digest(.sha256, of: block) }
        block += [UInt8](repeating: 0, count: blockByteCount - block.count)
        let inner = try Digester.digest(.sha256, of: block.map { $0 ^ 0x36 } + Array(message))
        return try Digester.digest(.sha256, of: block.map { $0 ^ 0x5c } + inner)
    }
}
