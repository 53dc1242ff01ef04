import CCrypto

/// Ed25519 (RFC 8032) by libcrypto: bytes in, bytes out.
///
/// libcrypto decides what verifies: it refuses an S that is not below the order of the base point (section 5.1.7),
/// and computes without the cofactor.
enum Ed25519 {
    static let keyByteCount = 32
    static let signatureByteCount = 64

    /// Whether libcrypto offers Ed25519 here, which its configuration may forbid.
    static func takes(_ publicKey: [UInt8]) -> Bool {
        let key = castree_ed25519_public(publicKey, publicKey.count)
        EVP_PKEY_free(key)
        ERR_clear_error()
        return key != nil
    }

    /// Whether a public key is a point of order 1, 2, 4 or 8, in any spelling: anyone can make signatures that verify.
    static func hasSmallOrder(_ publicKey: [UInt8]) -> Bool {
        var bytes = publicKey
        // The highest bit is the sign of x: both points have the order.
        if let last = bytes.indices.last { bytes[last] &= 0x7f }
        return smallOrders.contains(bytes)
    }

    /// The y of those points, also as y + p (RFC 8032, section 5.1).
    private static let smallOrders: [[UInt8]] = {
        let zeros = [UInt8](repeating: 0, count: keyByteCount - 1)
        let ones = [UInt8](repeating: 0xff, count: keyByteCount - 2) + [0x7f]
        let order8 = [
            "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
            "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        ]
        return [[0] + zeros, [1] + zeros] + [0xec, 0xed, 0xee].map { [$0] + ones }
            + order8.compactMap(Hex.bytes)
    }()

    static func verifies(
        _ signature: [UInt8], of message: [UInt8], by publicKey: [UInt8]
    ) -> Bool {
        guard signature.count == signatureByteCount else { return false }
        guard let key = castree_ed25519_public(publicKey, publicKey.count) else {
            ERR_clear_error()
            return false
        }
        defer { EVP_PKEY_free(key) }
        return isSignature(signature, of: message, by: key)
    }

    /// Overwrites secret bytes in a way that the compiler cannot remove.
    static func wipe(_ bytes: UnsafeMutableRawBufferPointer) {
        OPENSSL_cleanse(bytes.baseAddress, bytes.count)
    }

    /// A private key held by libcrypto, which overwrites it when freed.
    ///
    /// `@unchecked Sendable`: many threads may sign with a key that does not change (openssl-threads(7)).
    final class PrivateKey: @unchecked Sendable {
        private let key: OpaquePointer
        let publicKey: [UInt8]

        /// - Throws: `.unsupported` if libcrypto offers no Ed25519 here.
        init(seed: UnsafeRawBufferPointer) throws(StoreError) {
            let bytes = seed.assumingMemoryBound(to: UInt8.self)
            guard let key = castree_ed25519_private(bytes.baseAddress, bytes.count) else {
                ERR_clear_error()
                throw unsupported
            }
            var publicKey = [UInt8](repeating: 0, count: keyByteCount)
            var count = publicKey.count
            guard EVP_PKEY_get_raw_public_key(key, &publicKey, &count) == 1 else {
                EVP_PKEY_free(key)
                ERR_clear_error()
                throw unsupported
            }
            self.key = key
            self.publicKey = publicKey
        }

        deinit { EVP_PKEY_free(key) }

        /// - Throws: `.outOfMemory`.
        func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] {
            try signature(of: message, by: key)
        }

        /// Calls `body` with the seed, and overwrites this copy of it.
        func withSeed<R>(
            _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R
        ) throws(StoreError) -> R {
            let seed = UnsafeMutableRawBufferPointer.allocate(
                byteCount: keyByteCount, alignment: 8)
            defer {
                wipe(seed)
                seed.deallocate()
            }
            var count = seed.count
            let start = seed.baseAddress?.assumingMemoryBound(to: UInt8.self)
            guard EVP_PKEY_get_raw_private_key(key, start, &count) == 1 else {
                ERR_clear_error()
                throw unsupported
            }
            return try body(UnsafeRawBufferPointer(seed))
        }
    }

    static var unsupported: StoreError {
        StoreError(.unsupported, "libcrypto has no Ed25519 here; check its configuration")
    }
}
