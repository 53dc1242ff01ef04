import Archives
import StorageTestSupport

@Suite("Raw DEFLATE") struct DeflateTests {
    static let contents: [[UInt8]] = {
        var random = SeededRandom(seed: 1951)
        let words = (0..<15_000).flatMap { _ in Array("word\(random.next() % 700) ".utf8) }
        return [
            [], [0], Array("castree".utf8), [UInt8](repeating: 7, count: 300_000),
            random.bytes(70_000), words,
        ]
    }()

    static func deflate(
        _ content: [UInt8], pieces size: Int = 1 << 24, _ deflater: Deflater
    ) throws -> [UInt8] {
        var result: [UInt8] = []
        for start in stride(from: 0, to: content.count, by: size) {
            let piece = content[start..<min(start + size, content.count)]
            try piece.span.bytes.withUnsafeBytes {
                (piece) throws(StoreError) in
                try deflater.add(piece) { result += $0 }
            }
        }
        let count = try deflater.finish { result += $0 }
        expect(count, equals: Int64(result.count))
        return result
    }

    static func inflate(
        _ stream: [UInt8], pieces size: Int, _ inflater: Inflater
    ) throws -> [UInt8] {
        var result: [UInt8] = []
        inflater.reset()
        for start in stride(from: 0, to: stream.count, by: size) {
            let piece = stream[start..<min(start + size, stream.count)]
            try piece.span.bytes.withUnsafeBytes {
                (piece) throws(StoreError) in
                try inflater.add(piece) { result += $0 }
            }
        }
        try inflater.finish()
        return result
    }

    @Test func `gives all content back, and the same stream however the content was cut`() throws {
        let deflater = try Deflater()
        let inflater = try Inflater()
        for content in Self.contents {
            let whole = try Self.deflate(content, deflater)
            for size in [997, 4096, 65_536] {
                try expect(Self.deflate(content, pieces: size, deflater), equals: whole)
                try expect(Self.inflate(whole, pieces: size, inflater), equals: content)
            }
            if whole.count < 2000 {
                try expect(Self.inflate(whole, pieces: 1, inflater), equals: content)
            }
        }
    }

    @Test
    func `a content that repeats itself takes little, and one that was given up leaves nothing`()
        throws
    {
        let deflater = try Deflater()
        let given = Self.contents[4]
        try given.span.bytes.withUnsafeBytes { (piece) throws(StoreError) in
            try deflater.add(piece) { _ in }
        }
        deflater.reset()
        let stream = try Self.deflate(Self.contents[3], pieces: 8192, deflater)
        expect(stream.count < 400)
        try expect(Self.inflate(stream, pieces: 100, try Inflater()), equals: Self.contents[3])
    }

    // Written from RFC 1951, section 3.2: an empty block of fixed codes; stored blocks (3.2.4) of five bytes and none.
    @Test func `streams of the RFC are read`() throws {
        let inflater = try Inflater()
        let streams: [([UInt8], String)] = [
            ([0x03, 0x00], ""),
            ([0x01, 0x05, 0x00, 0xfa, 0xff] + Array("hello".utf8), "hello"),
            (
                [0x00, 0x05, 0x00, 0xfa, 0xff] + Array("hello".utf8) + [
                    0x01, 0x00, 0x00, 0xff, 0xff,
                ], "hello"
            ),
        ]
        for (stream, content) in streams {
            try expect(Self.inflate(stream, pieces: 3, inflater), equals: Array(content.utf8))
        }
    }

    @Test func `a stream that is cut, followed by something or none at all is refused`() throws {
        let deflater = try Deflater()
        let inflater = try Inflater()
        let stream = try Self.deflate(Array("to be, or not to be".utf8), pieces: 100, deflater)
        for count in 0..<stream.count {
            expectRefusal { try Self.inflate(Array(stream[..<count]), pieces: 5, inflater) }
        }
        for size in [1, stream.count, 100] {
            expectRefusal(.mismatch) { try Self.inflate(stream + [0], pieces: size, inflater) }
        }
        // A block of the reserved kind (3.2.3), and a stored one whose lengths do not agree.
        for none: [UInt8] in [[0x07, 0, 0], [0x01, 0x05, 0x00, 0xff, 0xff, 1, 2, 3, 4, 5]] {
            expectRefusal(.mismatch) { try Self.inflate(none, pieces: 100, inflater) }
        }
    }

    @Test func `whoever takes the bytes can end it at any piece`() throws {
        let stream = try Self.deflate(
            [UInt8](repeating: 0, count: 16 << 20), pieces: 1 << 20, try Deflater())
        expect(stream.count < 20_000)
        var taken = 0
        let inflater = try Inflater()
        expectRefusal(.tooLarge) {
            try stream.span.bytes.withUnsafeBytes { (piece) throws(StoreError) in
                try inflater.add(piece) { (bytes) throws(StoreError) in
                    taken += bytes.count
                    if taken > 1 << 20 { throw StoreError(.tooLarge, "enough") }
                }
            }
        }
        expect(taken < 2 << 20)
    }

    // The check value of the checksum: the catalogue of parametrised CRC algorithms, CRC-32/ISO-HDLC.
    @Test func `the checksum is that of ISO 3309, in any pieces`() {
        expect(CRC32(of: Array("123456789".utf8)).value, equals: 0xcbf4_3926)
        expect(CRC32().value, equals: 0)
        var checksum = CRC32()
        for piece in ["1234", "", "5", "6789"] {
            Array(piece.utf8).withUnsafeBytes { checksum.update($0) }
        }
        expect(checksum.value, equals: 0xcbf4_3926)
    }
}
