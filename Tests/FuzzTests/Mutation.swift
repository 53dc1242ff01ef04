import StorageTestSupport

/// Changes bytes as strangers, disks and networks do; the same for the same seed.
struct Mutation: RandomNumberGenerator {
    private var random: SeededRandom

    init(seed: UInt64) { random = SeededRandom(seed: seed) }

    mutating func next() -> UInt64 { random.next() }

    /// Numbers at which readers turn out to be wrong.
    private static let numbers = [
        "0", "-1", "-0", "1e3", "255", "65536", "2147483648", "4294967296", "9007199254740993",
        "9223372036854775807", "9223372036854775808", "18446744073709551616", "1.5", "00",
    ]
    /// Bytes that mean something in most languages.
    private static let marks =
        Array("\u{0}\t\n\r \"%&'*+,-./:;<=>?@[\\]{}\u{7f}".utf8) + [0x80, 0xc0, 0xff]
    private static let byteCountMax = 8192

    /// A sample changed one to eight times.
    mutating func mutated(_ samples: [[UInt8]], words: [String]) -> [UInt8] {
        var bytes = samples.randomElement(using: &self) ?? []
        for _ in 0..<Int.random(in: 1...8, using: &self) { change(&bytes, samples, words) }
        return Array(bytes.prefix(Self.byteCountMax))
    }

    private mutating func change(_ bytes: inout [UInt8], _ samples: [[UInt8]], _ words: [String]) {
        switch Int.random(in: 0..<10, using: &self) {
        case 0:
            if !bytes.isEmpty {
                bytes[position(in: bytes)] ^= 1 << UInt8.random(in: 0...7, using: &self)
            }
        case 1: if !bytes.isEmpty { bytes[position(in: bytes)] = mark() }
        case 2: bytes.insert(mark(), at: place(in: bytes))
        case 3: bytes.removeSubrange(part(of: bytes))
        case 4: bytes.removeLast(bytes.count - place(in: bytes))
        case 5: bytes.insert(contentsOf: bytes[part(of: bytes)], at: place(in: bytes))
        case 6:
            let other = samples.randomElement(using: &self) ?? []
            bytes.replaceSubrange(part(of: bytes), with: other[part(of: other)])
        case 7:
            let number = Self.numbers.randomElement(using: &self) ?? "0"
            bytes.replaceSubrange(digits(of: bytes), with: number.utf8)
        case 8:
            let word = words.randomElement(using: &self) ?? ""
            bytes.insert(contentsOf: word.utf8, at: place(in: bytes))
        default:
            let word = words.randomElement(using: &self) ?? ""
            bytes.replaceSubrange(part(of: bytes), with: word.utf8)
        }
    }

    private mutating func mark() -> UInt8 { Self.marks.randomElement(using: &self) ?? 0 }

    private mutating func position(in bytes: [UInt8]) -> Int {
        Int.random(in: 0..<bytes.count, using: &self)
    }

    private mutating func place(in bytes: [UInt8]) -> Int {
        Int.random(in: 0...bytes.count, using: &self)
    }

    private mutating func part(of bytes: [UInt8]) -> Range<Int> {
        let start = place(in: bytes)
        return start..<min(bytes.count, start + Int.random(in: 0...64, using: &self))
    }

    /// A number in the text, or a place for one.
    private mutating func digits(of bytes: [UInt8]) -> Range<Int> {
        let start = place(in: bytes)
        guard let first = bytes[start...].firstIndex(where: { (48...57).contains($0) }) else {
            return start..<start
        }
        let end = bytes[first...].firstIndex { !(48...57).contains($0) } ?? bytes.count
        return first..<end
    }
}
