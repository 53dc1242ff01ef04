import StorageTestSupport

@Suite struct HashingTests {
    struct Vector: Sendable, CustomStringConvertible {
        var name: String
        var message: [UInt8]
        var digest: String
        var description: String { name }
    }

    // FIPS 180-4 (examples of the Secure Hash Standard, and NIST's SHA256ShortMsg for one byte).
    static let vectors = [
        Vector(
            name: "empty", message: [],
            digest: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        Vector(
            name: "abc", message: bytes("abc"),
            digest: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        Vector(
            name: "448 bits",
            message: bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            digest: "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        Vector(
            name: "896 bits",
            message: bytes(
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            digest: "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"),
        Vector(
            name: "one million a", message: [UInt8](repeating: 97, count: 1_000_000),
            digest: "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        Vector(
            name: "one byte", message: [0xd3],
            digest: "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
    ]

    @Test func `what was read of a file that fails is no part of the next one`() throws {
        let temporary = try TemporaryStore()
        let large = temporary.path + "-large"
        try Damage.overwriteOrCreate(large, with: [UInt8](repeating: 1, count: 300_000))
        let small = temporary.path + "-small"
        try Damage.overwriteOrCreate(small, with: bytes("small"))
        let system = POSIXFileSystem()
        var checker = try ObjectChecker()
        let here = POSIXFileSystem.workingDirectory
        let failing = try system.open(here, large, .reading, mode: 0)
        // What stands behind its first 256 KiB cannot be read.
        let disk = FaultyFileSystem()
        disk.arm(.fail(EIO, at: 2, of: [.read]))
        #expect(throws: StoreError.self) { _ = try checker.hash(failing.raw, disk) }
        let sound = try system.open(here, small, .reading, mode: 0)
        try expect(checker.hash(sound.raw, system).address, equals: address(of: "small"))
        let whole = try checker.fingerprint(failing.raw, system)
        disk.arm(.fail(EIO, at: 2, of: [.read]))
        #expect(throws: StoreError.self) { _ = try checker.fingerprint(failing.raw, disk) }
        try expect(checker.fingerprint(failing.raw, system) == whole)
    }

    @Test(arguments: vectors) func `hashes as FIPS 180-4 says`(vector: Vector) throws {
        var hasher = try ObjectHasher()
        hasher.update(vector.message.span.bytes)
        expect(hasher.finish().address.description, equals: vector.digest)
        let whole = vector.message.withUnsafeBytes { hasher.hash($0) }
        expect(whole.address.description, equals: vector.digest)
    }

    @Test(arguments: vectors) func `hashes the same in pieces`(vector: Vector) throws {
        var random = SeededRandom()
        var hasher = try ObjectHasher()
        let whole = vector.message.withUnsafeBytes { hasher.hash($0) }
        for _ in 0..<4 {
            var rest = vector.message[...]
            while !rest.isEmpty {
                let count = min(rest.count, Int.random(in: 0...100_000, using: &random))
                hasher.update(Array(rest.prefix(count)).span.bytes)
                rest = rest.dropFirst(count)
            }
            let found = hasher.finish()
            expect(found.address.description, equals: vector.digest, "seed \(random.seed)")
            expect(found.fingerprint, equals: whole.fingerprint, "seed \(random.seed)")
        }
    }

    @Test func `begins anew after each object`() throws {
        var hasher = try ObjectHasher()
        hasher.update(bytes("something else").span.bytes)
        _ = hasher.finish()
        expect(hasher.finish().address.description, equals: Self.vectors[0].digest)
        hasher.update(bytes("abc").span.bytes)
        expect(hasher.finish().address.description, equals: Self.vectors[1].digest)
    }

    // xxHash 0.8, XXH3_128bits with seed 0, canonical order, as `xxhsum -H2` prints it.
    @Test(arguments: [
        ("", "99aa06d3014798d86001c324468d497f"),
        ("a", "a96faf705af16834e6c632b61e964e1f"),
        ("abc", "06b05ab6733a618578af5f94892f3950"),
    ])
    func `fingerprints as xxhsum prints them`(text: String, expected: String) throws {
        let message = bytes(text)
        let whole = message.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        expect(whole.withBytes { Hex.string(Array($0)) }, equals: expected)
        var running = try Fingerprinter()
        for byte in message { [byte].withUnsafeBytes { running.update($0) } }
        expect(running.finish(), equals: whole)
    }

    @Test func `a fingerprint's bytes make the round trip, and 16 are needed`() {
        let fingerprint = bytes("x").withUnsafeBytes { Fingerprinter.fingerprint($0) }
        expect(fingerprint.withBytes { Fingerprint(bytes: $0) }, equals: fingerprint)
        for count in [0, 15, 17, 32] {
            let other = [UInt8](repeating: 1, count: count)
            expect(other.withUnsafeBytes { Fingerprint(bytes: $0) } == nil)
        }
    }
}

@Suite struct LabelTests {
    // RFC 1321 A.5, RFC 3174 7.3, FIPS 180-4: digests of "abc".
    static let digests: [(DigestAlgorithm, String)] = [
        // ITU-T V.42; `python3 -c 'import zlib; print(hex(zlib.crc32(b"abc")))'`.
        (.crc32, "352441c2"),
        (.md5, "900150983cd24fb0d6963f7d28e17f72"),
        (.sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded163"
                + "1a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ]

    @Test(arguments: digests) func `digests abc`(algorithm: DigestAlgorithm, hex: String) throws {
        var digester = try Digester(algorithm)
        for byte in bytes("abc") { [byte].withUnsafeBytes { digester.update($0) } }
        expect(digester.finish { Hex.string(Array($0)) }, equals: hex)
        let label = try require(Label(algorithm, hex: hex))
        expect(label.description, equals: "\(algorithm.rawValue):\(hex)")
        expect(label.bytes.count, equals: algorithm.byteCount)
        expect(Label(algorithm, bytes: label.bytes), equals: label)
    }

    @Test(arguments: digests)
    func `refuses another spelling or length`(algorithm: DigestAlgorithm, hex: String) {
        expect(Label(algorithm, hex: hex.uppercased()) == nil)
        expect(Label(algorithm, hex: String(hex.dropLast())) == nil)
        expect(Label(algorithm, hex: String(hex.dropLast(2))) == nil)
        expect(Label(algorithm, hex: hex + "00") == nil)
        expect(Label(algorithm, hex: "g" + hex.dropFirst()) == nil)
        expect(Label(algorithm, bytes: []) == nil)
    }

    @Test func `every algorithm is covered here`() {
        expect(Set(Self.digests.map(\.0)), equals: Set(DigestAlgorithm.allCases))
    }
}
