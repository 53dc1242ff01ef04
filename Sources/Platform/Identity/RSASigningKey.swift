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
