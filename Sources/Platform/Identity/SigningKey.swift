/// A private Ed25519 key (RFC 8032).
///
/// libcrypto holds it, and overwrites it when the last copy of this value goes; copies read or written here are
/// overwritten at once. It is never printed: its description is that of its public key.
package struct SigningKey: Sendable, CustomStringConvertible {
    package let verificationKey: VerificationKey
    private let key: Ed25519.PrivateKey

    /// The bytes before the seed in its PrivateKeyInfo (RFC 8410, section 7), as OpenSSL writes it.
    private static let prefix: [UInt8] = [
        0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04,
        0x20,
    ]
    private static let label = "PRIVATE KEY"

    init(seed: UnsafeRawBufferPointer) throws(StoreError) {
        key = try Ed25519.PrivateKey(seed: seed)
        verificationKey = try VerificationKey(raw: key.publicKey)
    }

    /// - Throws: `.io` if the system has no random bytes; `.unsupported`.
    package static func generate() throws(StoreError) -> SigningKey {
        try withSecret(byteCount: Ed25519.keyByteCount) { (seed) throws(StoreError) in
            try fillRandomly(seed)
            return try SigningKey(seed: UnsafeRawBufferPointer(seed))
        }
    }

    /// Reads a PEM file, as `openssl genpkey -algorithm ed25519` writes it; the caller overwrites the text.
    /// - Throws: `.badKey`; `.unsupported` for a key with a passphrase, or if libcrypto offers no Ed25519 here.
    package init(pem text: UnsafeRawBufferPointer) throws(StoreError) {
        guard let block = PEM.firstBlock(in: text) else {
            throw Self.refusal("there is no -----BEGIN \(Self.label)-----")
        }
        switch block.label {
        case Self.label: break
        case "ENCRYPTED PRIVATE KEY":
            throw StoreError(
                .unsupported,
                "the key is under a passphrase, which castree does not ask for; sign with --sign-command and a program "
                    + "that does, such as openssl pkeyutl")
        case "PUBLIC KEY": throw Self.refusal("it is a public one, which signs nothing")
        case let label: throw Self.refusal("it is a \(printable(label))")
        }
        self = try Self.withSecret(byteCount: 48) { (bytes) throws(StoreError) in
            let count = PEM.decode(text[block.body], into: bytes)
            guard count == bytes.count, bytes.starts(with: Self.prefix) else {
                throw Self.refusal("it is none of Ed25519, as openssl genpkey writes it")
            }
            return try SigningKey(
                seed: UnsafeRawBufferPointer(rebasing: bytes[Self.prefix.count...]))
        }
    }

    /// Calls `body` with its PEM file, and overwrites the text.
    func withPEM<R>(
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let before = Array("-----BEGIN \(Self.label)-----\n".utf8)
        let after = Array("\n-----END \(Self.label)-----\n".utf8)
        let byteCount = before.count + 64 + after.count
        return try key.withSeed { (seed) throws(StoreError) in
            try Self.withSecret(byteCount: 48) { (bytes) throws(StoreError) in
                bytes.copyBytes(from: Self.prefix)
                UnsafeMutableRawBufferPointer(rebasing: bytes[Self.prefix.count...])
                    .copyMemory(from: seed)
                return try Self.withSecret(byteCount: byteCount) { (text) throws(StoreError) in
                    var end = 0
                    func append(_ byte: UInt8) {
                        text[end] = byte
                        end += 1
                    }
                    before.forEach(append)
                    // 48 bytes are 64 digits: one line, without padding.
                    for start in stride(from: 0, to: bytes.count, by: 3) {
                        let word =
                            UInt32(bytes[start]) << 16 | UInt32(bytes[start + 1]) << 8
                            | UInt32(bytes[start + 2])
                        for shift: UInt32 in [18, 12, 6, 0] {
                            append(Base64.alphabet[Int(word >> shift & 63)])
                        }
                    }
                    after.forEach(append)
                    return try body(UnsafeRawBufferPointer(text))
                }
            }
        }
    }

    /// The signature of a message: 64 bytes.
    /// - Throws: `.outOfMemory`.
    package func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8] { try key.sign(message) }

    package var description: String { "key \(verificationKey.id)" }

    /// Memory for a secret, overwritten at the end.
    static func withSecret<R>(
        byteCount: Int, _ body: (UnsafeMutableRawBufferPointer) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: byteCount, alignment: 8)
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        defer {
            Ed25519.wipe(bytes)
            bytes.deallocate()
        }
        return try body(bytes)
    }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(.badKey, "the private key is refused: \(problem)")
    }
}
