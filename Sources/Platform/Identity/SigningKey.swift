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

// Private keys in files that only their owner can read.

extension SigningKey {
    /// Reads a PEM file.
    ///
    /// Refuses this user's file if others can read it and thus sign, as ssh does (ssh(1), "Permission"). A file
    /// without a private key is refused for that reason, whoever can read it.
    /// - Throws: `.permission` for a readable file; `.badKey`, `.unsupported` with the file's name; `.badKey` for the
    ///   text of a key in place of a name; `.notFound`, what reading throws.
    package init(
        file path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        self = try KeyText.readPrivate(path, fileSystem) { (text) throws(StoreError) in
            try SigningKey(pem: text)
        }
    }

    /// Writes a PEM file of mode 0600, durably; never over an existing file.
    /// - Throws: `.io` if something has that name; what writing throws: then there is no file.
    package func write(
        to path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        try withPEM { (text) throws(StoreError) in
            try writeNewFile(path, mode: 0o600, text, fileSystem)
        }
    }
}

extension VerificationKey {
    /// Writes a PEM file that everyone may read, durably; never over an existing file.
    /// - Throws: as ``SigningKey/write(to:_:)``.
    package func write(
        to path: String, _ fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        let text = Array(pem.utf8)
        try text.span.bytes.withUnsafeBytes { (text) throws(StoreError) in
            try writeNewFile(path, mode: 0o644, text, fileSystem)
        }
    }
}

/// Key files as text, and key text given by mistake in place of a file's name, as `"$(cat release.key)"` does.
enum KeyText {
    /// Beginnings of PEM blocks, and base64 that each private key of Ed25519 (RFC 8410) and RSA (RFC 5958) contains.
    private static let marks = [
        "-----BEGIN", "-----END", "\n", "\r", "MC4CAQAwBQYDK2Vw", "NBgkqhkiG9w0BAQEFAASC",
    ]

    /// Refuses a path that is the text of a key: messages would repeat it as a name, and logs keep messages.
    /// - Throws: `.badKey`, without the text.
    static func refuse(inPlaceOfFile path: String) throws(StoreError) {
        guard marks.contains(where: { path.contains($0) }) else { return }
        throw StoreError(
            .badKey,
            "the text of a key was given, and the name of its file is wanted; who could see the command line has seen "
                + "the key: if it was a private one, replace it (castree trust rotate)")
    }

    /// - Throws: `.badKey` for the text of a key in place of a path, and for a pipe or anything but a regular file.
    static func open(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        try refuse(inPlaceOfFile: path)
        let file = try fileSystem.open(
            POSIXFileSystem.workingDirectory, path, .readingFollowingLinks, mode: 0)
        let kind = try fileSystem.status(file.raw).kind
        guard kind == .regular else {
            throw StoreError(
                .badKey,
                "\(printable(path)) is \(kind.noun), and a key is read from a regular file, beside which castree notes "
                    + "what it has signed: write the key to one (umask 077)")
        }
        return file
    }

    /// Calls `parse` with the text of a private key's file, and overwrites the text.
    /// - Throws: as ``SigningKey/init(file:_:)``.
    static func readPrivate<Key>(
        _ path: String, _ fileSystem: any FileSystem,
        _ parse: (UnsafeRawBufferPointer) throws(StoreError) -> Key
    ) throws(StoreError) -> Key {
        let file = try open(path, fileSystem)
        let status = try fileSystem.status(file.raw)
        guard status.byteCount <= Int64(VerificationKey.fileByteCountMax) else {
            throw StoreError(.badKey, "\(printable(path)) is not the file of a private key")
        }
        let key = try SigningKey.withSecret(byteCount: max(Int(status.byteCount), 1)) {
            (text) throws(StoreError) in
            var count = 0
            while count < text.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: text[count...])
                let got = try fileSystem.read(file.raw, into: rest, at: Int64(count))
                if got == 0 { break }
                count += got
            }
            do throws(StoreError) {
                return try parse(UnsafeRawBufferPointer(rebasing: text[..<count]))
            } catch {
                throw StoreError(error.code, "\(printable(path)): \(error.message)")
            }
        }
        guard status.owner != effectiveUser() || status.mode & 0o077 == 0 else {
            throw StoreError(
                .permission,
                "others can read \(printable(path)) (mode \(String(status.mode, radix: 8))), and whoever can read it "
                    + "can sign: chmod 600 \(printable(path))")
        }
        return key
    }
}

private func writeNewFile(
    _ path: String, mode: UInt32, _ text: UnsafeRawBufferPointer, _ fileSystem: any FileSystem
) throws(StoreError) {
    try KeyText.refuse(inPlaceOfFile: path)
    let directory = try fileSystem.openDirectory(holding: path)
    let aside = ".castree-\(try randomToken())"
    do throws(StoreError) {
        let file = try fileSystem.open(directory.raw, aside, .creating, mode: mode)
        try fileSystem.write(file.raw, text)
        try fileSystem.sync(file.raw)
        try fileSystem.renameNew(
            directory.raw, aside, to: directory.raw, fileSystem.fileName(in: path))
    } catch {
        // Report the first error: a copy of a key must not stay, as far as possible.
        try? fileSystem.removeIfPresent(directory.raw, aside)
        guard error.isExisting else { throw error }
        throw StoreError(
            .io, "\(printable(path)) exists, and keys are never overwritten: choose another name",
            cause: error.cause)
    }
    do throws(StoreError) {
        try fileSystem.sync(directory.raw)
    } catch {
        // It is unused yet, and a caller that is told there is no key must not find one.
        let name = fileSystem.fileName(in: path)
        do throws(StoreError) {
            try fileSystem.removeIfPresent(directory.raw, name)
        } catch let second {
            throw StoreError(
                error.code,
                "\(error.message); \(printable(path)) stands there all the same and could not be removed "
                    + "(\(second.message)): remove it", cause: error.cause)
        }
        throw error
    }
}
