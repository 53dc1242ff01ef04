import CCrypto

/// RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, section 8.2) by libcrypto: bytes in, bytes out.
enum RSA {
    /// The fewest bits of a modulus that may sign: clients and their libraries refuse less (RFC 7518, section 3.3).
    static let bitCountMin = 2048

    /// A private key held by libcrypto, which overwrites it when freed.
    ///
    /// `@unchecked Sendable`: many threads may sign with a key that does not change (openssl-threads(7)).
    final class PrivateKey: @unchecked Sendable {
        private let key: OpaquePointer
        let bitCount: Int
        /// The SubjectPublicKeyInfo (RFC 5280, section 4.1) in DER.
        let publicKey: [UInt8]

        /// Reads an RSA PrivateKeyInfo (PKCS #8) or RSAPrivateKey (PKCS #1) in DER; `nil` for anything else.
        init?(der: UnsafeRawBufferPointer) {
            // Errors left in libcrypto's list would be attributed to the next connection (SSL_get_error(3)).
            defer { ERR_clear_error() }
            let start = der.assumingMemoryBound(to: UInt8.self).baseAddress
            var position = start
            guard let start, let key = d2i_AutoPrivateKey(nil, &position, der.count) else {
                return nil
            }
            var text: UnsafeMutablePointer<UInt8>?
            let count = castree_is_rsa(key) == 1 ? i2d_PUBKEY(key, &text) : 0
            guard position == start + der.count, count > 0, let text else {
                EVP_PKEY_free(key)
                return nil
            }
            self.key = key
            bitCount = Int(EVP_PKEY_get_bits(key))
            publicKey = Array(UnsafeBufferPointer(start: text, count: Int(count)))
            CRYPTO_free(text, #file, #line)
        }

        deinit { EVP_PKEY_free(key) }

        /// The signature of a message, as long as the modulus.
        /// - Throws: `.outOfMemory`.
        func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] {
            try signature(of: message, by: key, EVP_sha256())
        }

        func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
            isSignature(signature, of: message, by: key, EVP_sha256())
        }
    }
}

/// The signature of a message by a key of libcrypto's.
/// - Parameter digest: hashes the message first; nil for an algorithm with a fixed digest.
/// - Throws: `.outOfMemory`.
func signature(
    of message: [UInt8], by key: OpaquePointer, _ digest: OpaquePointer? = nil
) throws(StoreError) -> [UInt8] {
    defer { ERR_clear_error() }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    var count = Int(EVP_PKEY_get_size(key))
    var signature = [UInt8](repeating: 0, count: count)
    guard context != nil, EVP_DigestSignInit(context, nil, digest, nil, key) == 1,
        EVP_DigestSign(context, &signature, &count, message, message.count) == 1,
        count == signature.count
    else {
        throw StoreError(.outOfMemory, "unable to sign: libcrypto has no memory for it")
    }
    return signature
}

func isSignature(
    _ signature: [UInt8], of message: [UInt8], by key: OpaquePointer,
    _ digest: OpaquePointer? = nil
) -> Bool {
    // Errors left in libcrypto's list would be attributed to the next connection (SSL_get_error(3)).
    defer { ERR_clear_error() }
    let context = EVP_MD_CTX_new()
    defer { EVP_MD_CTX_free(context) }
    return context != nil && EVP_DigestVerifyInit(context, nil, digest, nil, key) == 1
        && EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
}
