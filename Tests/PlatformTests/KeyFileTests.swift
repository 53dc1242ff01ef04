import StorageTestSupport

@Suite("The file of a key") struct KeyFileTests {
    let directory = TemporaryDirectory()

    private var path: String { directory.appending("release.key") }

    private func write(_ text: String, mode: Int = 0o600) throws {
        _ = FileManager.default.createFile(
            atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    }

    private func refusal(_ text: String, mode: Int = 0o600) throws -> StoreError? {
        try write(text, mode: mode)
        defer { try? FileManager.default.removeItem(atPath: path) }
        return #expect(throws: StoreError.self) { try SigningKey(file: path) }
    }

    /// RFC 8410, section 10.3, the first example.
    static let example = """
        -----BEGIN PRIVATE KEY-----
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC
        -----END PRIVATE KEY-----

        """
    /// RFC 8410, section 10.1.
    static let examplePublic = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
        -----END PUBLIC KEY-----

        """

    @Test func `is read as RFC 8410 shows it, and its public key is the one shown there`() throws {
        try write(Self.example)
        let key = try SigningKey(file: path)
        expect(key.verificationKey.pem, equals: Self.examplePublic)
        try expect(VerificationKey(pem: Self.examplePublic), equals: key.verificationKey)
        // Text for people may stand before it, and lines may end as elsewhere (RFC 7468, section 2).
        let other = "castree\n" + Self.examplePublic.replacingOccurrences(of: "\n", with: "\r\n")
        try expect(VerificationKey(pem: other), equals: key.verificationKey)
        expect("\(key)", equals: "key \(key.verificationKey.id)")
        let digest = try Digester.digest(
            .sha256, of: require(Base64.bytes(key.verificationKey.base64)))
        expect(key.verificationKey.id, equals: Hex.string(digest.prefix(8)))
    }

    @Test func `is written so that only its owner can read it, and never over another`() throws {
        let key = try SigningKey.generate()
        try key.write(to: path)
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        expect(attributes[.posixPermissions] as? Int == 0o600)
        try expect(SigningKey(file: path).verificationKey, equals: key.verificationKey)
        expectRefusal(saying: "keys are never overwritten") {
            try SigningKey.generate().write(to: path)
        }
        try expect(SigningKey(file: path).verificationKey, equals: key.verificationKey)
        expect(Damage.names(directory.path), equals: ["release.key"])
    }

    @Test func `leaves nothing behind if it cannot be written, whatever call fails`() throws {
        let key = try SigningKey.generate()
        var count = 0
        while true {
            let disk = FaultyFileSystem()
            disk.arm(.fail(EIO, at: count + 1))
            do { try key.write(to: path, disk) } catch { expect(disk.hasFired) }
            guard disk.hasFired else { break }
            count += 1
            expect(Damage.names(directory.path).isEmpty, "\(count)")
        }
        expect(count > 3)
    }

    @Test func `that others can read is refused with what to do about it`() throws {
        for mode in [0o604, 0o640, 0o644, 0o620, 0o601] {
            let error = try refusal(Self.example, mode: mode)
            expect(error?.code == .permission && error?.message.contains("chmod 600") == true)
        }
        for mode in [0o600, 0o400, 0o700] {
            try write(Self.example, mode: mode)
            _ = try SigningKey(file: path)
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func `that is a public one is named so, whoever can read it`() throws {
        let error = try refusal(Self.examplePublic, mode: 0o644)
        expect(error?.code == .badKey && error?.message.contains("public") == true)
    }

    @Test func `is wanted by name: its text is refused, and not repeated`() throws {
        let line = Self.example.split(separator: "\n")[1]
        for text in [
            Self.example, String(Self.example.dropLast()), String(line),
            Self.example.replacingOccurrences(of: "\n", with: " "), "release.key\n",
        ] {
            for error in [
                #expect(throws: StoreError.self) { try SigningKey(file: text) },
                #expect(throws: StoreError.self) { try VerificationKey(file: text) },
                #expect(throws: StoreError.self) { try SigningKey.generate().write(to: text) },
            ] {
                expect(error?.code, equals: .badKey)
                expect(error?.message.contains("name of its file"), equals: true)
                expect(error?.message.contains(line), equals: false)
                expect(error?.message.contains("BEGIN"), equals: false)
            }
        }
    }

    @Test func `is a regular file: a pipe is refused with the reason, also one that has the key`()
        throws
    {
        expect(mkfifo(path, 0o600), equals: 0)
        let held = open(path, O_RDWR)
        defer { close(held) }
        for text in [Self.example, Self.examplePublic] {
            expect(
                text.withCString { Foundation.write(held, $0, strlen($0)) }, equals: text.utf8.count
            )
        }
        let secret = #expect(throws: StoreError.self) { try SigningKey(file: path) }
        let open = #expect(throws: StoreError.self) { try VerificationKey(file: path) }
        for error in [secret, open] {
            expect(error?.code, equals: .badKey)
            expect(
                error?.message.contains("a named pipe, and a key is read from a regular file"),
                equals: true)
        }
    }

    @Test func `under a passphrase is refused, and --sign-command named`() throws {
        let text = Self.example.replacingOccurrences(of: "PRIVATE", with: "ENCRYPTED PRIVATE")
        let error = try refusal(text)
        expect(error?.code, equals: .unsupported)
        expect(error?.message.contains("--sign-command"), equals: true)
    }

    @Test func `of another kind, or damaged, is refused`() throws {
        let body = "MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC"
        let texts = [
            "", "hello", Self.examplePublic,
            Self.example.replacingOccurrences(of: "BQYDK2Vw", with: "BQYDK2Vx"),
            Self.example.replacingOccurrences(of: body, with: String(body.dropLast())),
            Self.example.replacingOccurrences(of: body, with: String(body.dropLast(4))),
            Self.example.replacingOccurrences(of: body, with: body + "AAAA"),
            Self.example.replacingOccurrences(of: body, with: body + "===="),
            Self.example.replacingOccurrences(of: body, with: "*" + body.dropFirst()),
            Self.example.replacingOccurrences(of: "END", with: "FIN"),
            Self.example.replacingOccurrences(of: "PRIVATE", with: "EC PRIVATE"),
        ]
        for text in texts {
            try expect(refusal(text)?.code, equals: .badKey, "\(text)")
        }
        for text in [
            "", Self.example, Self.examplePublic.replacingOccurrences(of: "VwAyEA", with: "VwAyEB"),
            Self.examplePublic.replacingOccurrences(of: "uE=", with: "uF="),
            Self.examplePublic.replacingOccurrences(of: "uE=", with: "uE"),
        ] {
            #expect(throws: StoreError.self, "\(text)") { try VerificationKey(pem: text) }
        }
    }

    private func openssl(_ arguments: String...) throws -> Data {
        let done = try OtherProgram(["openssl"] + arguments, in: directory.path)
        try require(done.status == 0, "openssl \(arguments)")
        return done.output
    }

    @Test func `and a signature go both ways between castree and OpenSSL's command line`() throws {
        let message = Array("castree-pointer 1\n{}".utf8)
        _ = FileManager.default.createFile(
            atPath: directory.appending("message"), contents: Data(message))
        // Their key and signature, read and verified here.
        _ = try openssl("genpkey", "-algorithm", "ed25519", "-out", "theirs.key")
        _ = try openssl("pkey", "-in", "theirs.key", "-pubout", "-out", "theirs.pub")
        let signed = try openssl(
            "pkeyutl", "-sign", "-rawin", "-inkey", "theirs.key", "-in", "message")
        let theirs = try VerificationKey(file: directory.appending("theirs.pub"))
        expect(theirs.verifies(Array(signed), of: message))
        try expect(
            SigningKey(file: directory.appending("theirs.key")).verificationKey, equals: theirs)
        try expect(
            SigningKey(file: directory.appending("theirs.key")).sign(message), equals: Array(signed)
        )
        // Our key and signature, read and verified there.
        let ours = try SigningKey.generate()
        try ours.write(to: directory.appending("ours.key"))
        try ours.verificationKey.write(to: directory.appending("ours.pub"))
        _ = FileManager.default.createFile(
            atPath: directory.appending("signature"), contents: Data(try ours.sign(message)))
        let verified = try openssl(
            "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", "ours.pub", "-in", "message",
            "-sigfile", "signature")
        expect(String(decoding: verified, as: UTF8.self).contains("Verified Successfully"))
        try expect(
            openssl("pkey", "-in", "ours.key", "-pubout"),
            equals: Data(ours.verificationKey.pem.utf8))
        try expect(
            openssl("pkeyutl", "-sign", "-rawin", "-inkey", "ours.key", "-in", "message"),
            equals: Data(ours.sign(message)))
    }
}
