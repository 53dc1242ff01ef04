import StorageTestSupport

@Suite("The RSA key that signs for clients of other systems") struct RSASigningKeyTests {
    let directory = TemporaryDirectory()

    private func path(_ name: String) -> String { directory.appending(name) }

    private func openssl(_ arguments: String..., more: [String] = []) throws -> OtherProgram {
        try OtherProgram(["openssl"] + arguments + more, in: directory.path)
    }

    private func write(_ name: String, _ bytes: [UInt8], mode: Int = 0o600) {
        _ = FileManager.default.createFile(
            atPath: path(name), contents: Data(bytes), attributes: [.posixPermissions: mode])
    }

    private func refusal(_ name: String) -> StoreError? {
        #expect(throws: StoreError.self, "\(name)") { try RSASigningKey(file: path(name)) }
    }

    @Test("is read from PKCS #8 and PKCS #1, and signs as `openssl dgst -sha256` does, both ways")
    func interoperability() throws {
        try expect(
            openssl(
                "genpkey", "-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:2048", "-out", "k8"
            )
            .status, equals: 0)
        try expect(openssl("pkey", "-in", "k8", "-traditional", "-out", "k1").status, equals: 0)
        try expect(openssl("pkey", "-in", "k8", "-pubout", "-out", "public").status, equals: 0)
        let spki = Array(try openssl("pkey", "-in", "k8", "-pubout", "-outform", "der").output)
        for name in ["k8", "k1"] {
            let key = try RSASigningKey(file: path(name))
            expect("\(key)" == "RSA key of 2048 bits" && key.subjectPublicKeyInfo == spki)
            for message in [[], Array("{}".utf8), [UInt8](repeating: 0xff, count: 100_000)] {
                write("message", message)
                let theirs = Array(try openssl("dgst", "-sha256", "-sign", "k8", "message").output)
                let ours = try key.sign(message)
                // PKCS #1 v1.5 draws nothing: the same bytes everywhere and for ever.
                expect(ours == theirs && ours.count == 256)
                write("signature", ours)
                let verified = try openssl(
                    "dgst", "-sha256", "-verify", "public", "-signature", "signature", "message")
                expect(verified.status == 0 && key.verifies(theirs, of: message))
                expect(!key.verifies(theirs, of: message + [0]))
                var wrong = theirs
                wrong[7] ^= 1
                expect(!key.verifies(wrong, of: message))
            }
        }
        // A file that others can read signs for whoever reads it.
        write("open", try Damage.contents(path("k8")), mode: 0o640)
        let error = refusal("open")
        expect(error?.code == .permission && error?.message.contains("chmod 600") == true)
        // Under a passphrase, in the new and the old way to write it.
        try expect(
            openssl("pkey", "-in", "k8", "-aes128", "-passout", "pass:x", "-out", "e8").status,
            equals: 0)
        try expect(
            openssl(
                "rsa", "-in", "k8", "-traditional", "-aes128", "-passout", "pass:x", "-out", "e1"
            )
            .status, equals: 0)
        for name in ["e8", "e1"] {
            let error = refusal(name)
            expect(error?.code, equals: .unsupported, "\(name)")
            expect(error?.message.contains("--client-sign-command"), equals: true, "\(name)")
        }
        // A public one, and one whose halves are those of two keys: a byte of the private exponent is another.
        expect(refusal("public")?.message.contains("it is a public one"), equals: true)
        try refuseDamaged()
    }

    private func refuseDamaged() throws {
        let text = String(decoding: try Damage.contents(path("k8")), as: UTF8.self)
        let body = text.split(separator: "\n").dropFirst().dropLast().joined()
        let der = try require(Base64.bytes(body))
        func wrap(_ bytes: [UInt8]) -> [UInt8] {
            let body = Base64.string(bytes)
            return Array("-----BEGIN PRIVATE KEY-----\n\(body)\n-----END PRIVATE KEY-----\n".utf8)
        }
        // The modulus stands from byte 38 on: 26 of PKCS #8, then the sequence, the version, its own head.
        for position in [0, 4, 10, 38 + 100, der.count - 1] {
            var damaged = der
            damaged[position] ^= 0x10
            write("damaged", wrap(damaged))
            if position == der.count - 1 {
                // Only the CRT coefficient: libcrypto finds that its result is wrong, and computes without it.
                _ = try? RSASigningKey(file: path("damaged"))
            } else {
                expect(refusal("damaged")?.code, equals: .badKey, "\(position)")
            }
        }
        for bytes in [
            wrap(der + [0]), wrap(Array(der.dropLast())), wrap([]), Array("hello".utf8), [],
        ] {
            write("damaged", bytes)
            expect(refusal("damaged")?.code, equals: .badKey)
        }
    }

    @Test(
        "of another kind, or too short, is refused, and the text of one in place of a name is not repeated"
    )
    func otherKinds() throws {
        for (arguments, words) in [
            (["-algorithm", "ed25519"], "none of RSA"),
            (["-algorithm", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"], "none of RSA"),
            (["-algorithm", "rsa", "-pkeyopt", "rsa_keygen_bits:1024"], "1024 bits"),
        ] {
            try expect(openssl("genpkey", "-out", "other", more: arguments).status, equals: 0)
            let error = refusal("other")
            expect(error?.code == .badKey && error?.message.contains(words) == true, "\(arguments)")
            let text = String(decoding: try Damage.contents(path("other")), as: UTF8.self)
            for name in [text, text.replacingOccurrences(of: "\n", with: " ")] {
                let error = expectRefusal(saying: "name of its file") {
                    try RSASigningKey(file: name)
                }
                expect(error?.message.contains("BEGIN"), equals: false)
            }
        }
    }
}
