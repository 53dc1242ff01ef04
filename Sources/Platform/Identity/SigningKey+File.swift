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
