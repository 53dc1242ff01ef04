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

/// A private RSA key that signs for other systems' clients: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, section 8.2).
///
/// libcrypto holds it, and overwrites it when the last copy of this value goes. It is never printed: its description
/// is that of its public half. A signature of one message by one key is always the same.
package struct RSASigningKey: Sendable, CustomStringConvertible {
    private let key: RSA.PrivateKey

    private static let label = "PRIVATE KEY"
    private static let oldLabel = "RSA PRIVATE KEY"

    /// Reads a PEM file: PKCS #8, as `openssl genpkey -algorithm rsa` writes it, or PKCS #1 (`RSA PRIVATE KEY`).
    ///
    /// The caller overwrites the text.
    /// - Throws: `.badKey` for anything but a private RSA key, for one with less than 2,048 bits, and for one whose
    ///   halves do not belong together; `.unsupported` for a key with a passphrase.
    package init(pem text: UnsafeRawBufferPointer) throws(StoreError) {
        guard let block = PEM.firstBlock(in: text) else {
            throw Self.refusal("there is no -----BEGIN \(Self.label)-----")
        }
        let body = text[block.body]
        switch block.label {
        case Self.label: break
        // Files of that kind say in a field of their own whether they have a passphrase (RFC 1421, section 4.6).
        case Self.oldLabel where !Self.isEncrypted(body): break
        case Self.oldLabel, "ENCRYPTED PRIVATE KEY":
            throw StoreError(
                .unsupported,
                "the key is under a passphrase, which castree does not ask for; sign with --client-sign-command and a "
                    + "program that does, such as openssl dgst")
        case "PUBLIC KEY", "RSA PUBLIC KEY", "CERTIFICATE":
            throw Self.refusal("it is a public one, which signs nothing")
        case let label: throw Self.refusal("it is a \(printable(label))")
        }
        let key = try SigningKey.withSecret(byteCount: body.count) { (bytes) throws(StoreError) in
            guard let count = PEM.decode(body, into: bytes) else {
                throw Self.refusal("it is no base64, or damaged")
            }
            let der = UnsafeRawBufferPointer(rebasing: bytes[..<count])
            guard let key = RSA.PrivateKey(der: der) else {
                throw Self.refusal(
                    "it is none of RSA, as openssl genpkey -algorithm rsa writes it, or damaged")
            }
            return key
        }
        guard key.bitCount >= RSA.bitCountMin else {
            throw Self.refusal(
                "it has \(key.bitCount) bits, and clients want at least \(RSA.bitCountMin): openssl genpkey -algorithm rsa"
            )
        }
        let message = Array("castree".utf8)
        guard key.verifies(try key.sign(message), of: message) else {
            throw Self.refusal("its halves do not belong together; it is damaged")
        }
        self.key = key
    }

    private static func isEncrypted(_ body: Slice<UnsafeRawBufferPointer>) -> Bool {
        body.starts(with: "Proc-Type:".utf8)
    }

    /// Reads a PEM file, as ``SigningKey/init(file:_:)`` does: one that others can read is refused.
    /// - Throws: as ``init(pem:)``, with the file's name; `.permission` for a file that others can read; `.notFound`,
    ///   what reading throws.
    package init(
        file path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        self = try KeyText.readPrivate(path, fileSystem) { (text) throws(StoreError) in
            try RSASigningKey(pem: text)
        }
    }

    /// The SubjectPublicKeyInfo (RFC 5280, section 4.1) in DER, as `openssl pkey -pubout -outform der` writes it.
    package var subjectPublicKeyInfo: [UInt8] { key.publicKey }

    /// The signature of a message, as long as the modulus: 256 bytes for 2,048 bits.
    /// - Throws: `.outOfMemory`.
    package func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] { try key.sign(message) }

    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        key.verifies(signature, of: message)
    }

    package var description: String { "RSA key of \(key.bitCount) bits" }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(.badKey, "the private key is refused: \(problem)")
    }
}
