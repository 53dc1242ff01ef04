import StorageTestSupport

@Suite struct ObjectIDTests {
    // FIPS 180-4, SHA-256 of "abc".
    static let spelling = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

    @Test func `reads its one spelling and gives it back`() throws {
        let address = try require(ObjectID(Self.spelling))
        expect(address.description, equals: Self.spelling)
        expect(String(address), equals: Self.spelling)
        expect(address.bytes.count, equals: ObjectID.byteCount)
        expect(address.bytes.first, equals: 0xba)
        expect(address.bytes.last, equals: 0xad)
        expect(ObjectID(bytes: address.bytes), equals: address)
        expect(address.shortDescription, equals: "ba7816bf8f01")
    }

    @Test func `refuses every other length`() {
        for count in (0...130) where count != 64 {
            expect(ObjectID(String(repeating: "a", count: count)) == nil, "\(count) digits")
        }
    }

    @Test(arguments: ["g", "G", "/", ":", "@", "`", " ", "\0", "-", "é", "٣", "\u{ff21}"])
    func `refuses what is not a digit at any place`(stranger: String) {
        for place in [0, 1, 31, 62, 63] {
            var digits = Self.spelling.map(String.init)
            digits[place] = stranger
            expect(ObjectID(digits.joined()) == nil, "\(stranger) at \(place)")
            // Nor when the bytes are 64, whatever the characters.
            let bytes = String(digits.joined().utf8.prefix(64)) ?? ""
            expect(ObjectID(bytes) == nil)
        }
    }

    @Test func `tells a digit from every other byte, at every place`() {
        let spelling = Array(Self.spelling.utf8)
        for place in spelling.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = spelling
                bytes[place] = byte
                let isDigit = (48...57).contains(byte) || (97...102).contains(byte)
                let found = bytes.withUnsafeBufferPointer { ObjectID.parse($0) }
                expect((found != nil), equals: isDigit, "byte \(byte) at \(place)")
                if let found { expect(Array(found.description.utf8), equals: bytes) }
            }
        }
    }

    @Test(arguments: [" %", "% ", "0x%", "%\n", "sha256:%", "\u{feff}%"])
    func `refuses what is added to the digits`(frame: String) {
        let text = frame.split(separator: "%", omittingEmptySubsequences: false)
            .joined(separator: Self.spelling)
        expect(ObjectID(text) == nil)
    }

    @Test(arguments: [0, 1, 31, 33, 64]) func `refuses another number of bytes`(count: Int) {
        expect(ObjectID(bytes: [UInt8](repeating: 1, count: count)) == nil)
    }

    @Test func `orders addresses as their spellings, and bytes make the round trip`() throws {
        var random = SeededRandom()
        var addresses: [ObjectID] = []
        for _ in 0..<500 {
            var bytes = random.bytes(32)
            // Long common beginnings, so that every byte decides now and then.
            let shared = Int.random(in: 0...32, using: &random)
            bytes.replaceSubrange(0..<shared, with: [UInt8](repeating: 0x7f, count: shared))
            let address = try require(ObjectID(bytes: bytes))
            expect(address.bytes, equals: bytes)
            expect(ObjectID(address.description), equals: address)
            addresses.append(address)
        }
        let sorted = addresses.sorted()
        expect(
            sorted.map(\.description), equals: addresses.map(\.description).sorted(),
            "seed \(random.seed)")
        for (left, right) in zip(sorted, sorted.dropFirst()) {
            expect(left == right || left < right)
            expect(!(right < left))
        }
    }
}
