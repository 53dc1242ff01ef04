/// A public Ed25519 key (RFC 8032), which verifies signatures.
package struct VerificationKey: Sendable, Hashable {
    static let fileByteCountMax = 16 * 1024

    private let bytes: [UInt8]
    /// The key's name in pointers and messages: the first 8 bytes of the SHA-256 of its SubjectPublicKeyInfo.
    ///
    /// 16 lower-case hexadecimal digits. Two keys can be made to share one: it finds a key, and proves nothing.
    package let id: String

    /// The bytes before the key in its SubjectPublicKeyInfo (RFC 8410, section 4).
    private static let prefix: [UInt8] = [
        0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
    ]
    private static let label = "PUBLIC KEY"

    init(raw bytes: [UInt8]) throws(StoreError) {
        guard bytes.count == Ed25519.keyByteCount else {
            throw Self.refusal("it has \(bytes.count) bytes")
        }
        guard !Ed25519.hasSmallOrder(bytes) else {
            throw Self.refusal("its order is small, so anybody can sign by it")
        }
        guard Ed25519.takes(bytes) else { throw Ed25519.unsupported }
        self.bytes = bytes
        id = Hex.string(try Digester.digest(.sha256, of: Self.prefix + bytes).prefix(8))
    }

    /// Reads a SubjectPublicKeyInfo in DER: exactly 44 bytes.
    /// - Throws: `.badKey`; `.unsupported` if libcrypto offers no Ed25519 here.
    package init(subjectPublicKeyInfo: [UInt8]) throws(StoreError) {
        guard subjectPublicKeyInfo.starts(with: Self.prefix) else {
            throw Self.refusal("it is none of Ed25519")
        }
        try self.init(raw: Array(subjectPublicKeyInfo.dropFirst(Self.prefix.count)))
    }

    /// Reads the base64 of a SubjectPublicKeyInfo in one line: the body of a PEM file.
    /// - Throws: as ``init(subjectPublicKeyInfo:)``.
    package init(base64 text: String) throws(StoreError) {
        guard let bytes = Base64.bytes(text) else { throw Self.refusal("it is no base64") }
        try self.init(subjectPublicKeyInfo: bytes)
    }

    /// Reads a PEM file, as `openssl pkey -pubout` writes it.
    /// - Throws: as ``init(subjectPublicKeyInfo:)``.
    package init(pem text: String) throws(StoreError) {
        var decoded = [UInt8](repeating: 0, count: 64)
        var found: String?
        var count: Int?
        Array(text.utf8).withUnsafeBytes { text in
            guard let block = PEM.firstBlock(in: text) else { return }
            found = block.label
            decoded.withUnsafeMutableBytes { count = PEM.decode(text[block.body], into: $0) }
        }
        switch found {
        case Self.label: break
        case nil: throw Self.refusal("there is no -----BEGIN \(Self.label)-----")
        case let label? where label.hasSuffix("PRIVATE KEY"):
            throw Self.refusal(
                "it is a private one, which belongs to nobody else"
            )
        case let label?: throw Self.refusal("it is a \(printable(label))")
        }
        guard let count else { throw Self.refusal("it is none of Ed25519, or damaged") }
        try self.init(subjectPublicKeyInfo: Array(decoded.prefix(count)))
    }

    package var subjectPublicKeyInfo: [UInt8] { Self.prefix + bytes }

    /// The same in base64: the body of its PEM file, in one line.
    package var base64: String { Base64.string(subjectPublicKeyInfo) }

    package var pem: String {
        "-----BEGIN \(Self.label)-----\n\(base64)\n-----END \(Self.label)-----\n"
    }

    package func verifies(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        Ed25519.verifies(signature, of: message, by: bytes)
    }

    package static func isID(_ text: String) -> Bool {
        text.utf8.count == 16 && Hex.bytes(text) != nil
    }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(
            .badKey,
            "the public key is refused: \(problem); castree key show FILE prints that of a private key"
        )
    }
}

extension VerificationKey {
    /// Reads a PEM file.
    /// - Throws: `.badKey` with the file's name, or for a key's text in place of it; `.notFound`, what reading
    ///   throws.
    package init(
        file path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        let file = try KeyText.open(path, fileSystem)
        let bytes = try fileSystem.read(file.raw, at: 0, count: Self.fileByteCountMax)
        do throws(StoreError) {
            try self.init(pem: String(decoding: bytes, as: UTF8.self))
        } catch {
            throw StoreError(error.code, "\(printable(path)): \(error.message)")
        }
    }
}
