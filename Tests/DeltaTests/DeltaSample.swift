import Platform
import StorageTestSupport

@testable import Delta

/// Content that is made from a base by steps.
struct DeltaSample: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var base: [UInt8]
    var content: [UInt8]
    var steps: [DeltaStep]

    /// - Parameter steps: copies, literals, seek.
    init(
        _ name: String, base: [UInt8], content: [UInt8], _ steps: [(Int, Int, Int)]
    ) {
        testDescription = name
        self.base = base
        self.content = content
        self.steps = steps.map {
            DeltaStep(copyByteCount: $0.0, literalByteCount: $0.1, seek: $0.2)
        }
    }

    func encoded(_ tables: [DeltaTable] = []) throws -> [UInt8] {
        try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                try DeltaEncoder.encode(content, base: base, steps: steps, tables: tables)
            }
        }
    }

    func decoded(_ frame: [UInt8]) throws -> [UInt8] {
        try DeltaDecoder.decode(frame, base: base, byteCount: content.count)
    }

    static let all: [DeltaSample] = small + large

    static let small: [DeltaSample] = [
        DeltaSample("nothing from nothing", base: [], content: [], []),
        DeltaSample("nothing from something", base: [1, 2, 3], content: [], []),
        DeltaSample(
            "something from nothing", base: [], content: Array("abracadabra".utf8), [(0, 11, 0)]),
        DeltaSample("one byte", base: [7], content: [7], [(1, 0, 0)]),
        DeltaSample("another byte", base: [7], content: [8], [(1, 0, 0)]),
        DeltaSample(
            "the end before the beginning", base: Array("beginning, end".utf8),
            content: Array("end: Beginning!".utf8), [(0, 0, 11), (3, 2, -14), (9, 1, 0)]),
        DeltaSample(
            "a seek to the base's end", base: [1, 2, 3, 4], content: [9, 1, 2, 3, 4, 8],
            [(0, 1, 0), (4, 1, 0)]),
    ]

    static let large: [DeltaSample] = {
        var random = SeededRandom(seed: 3)
        let noise = random.bytes(20_000)
        let words = (0..<4000).flatMap { _ in Array("word\(random.next() % 300) ".utf8) }
        var changed = noise
        changed[9000] ^= 1
        let moved = Array(noise[10_000...] + noise[..<10_000])
        return [
            DeltaSample("the same", base: noise, content: noise, [(20_000, 0, 0)]),
            DeltaSample("one byte changed", base: noise, content: changed, [(20_000, 0, 0)]),
            DeltaSample("noise", base: words, content: noise, [(0, 20_000, 0)]),
            DeltaSample("noise over noise", base: moved, content: noise, [(20_000, 0, 0)]),
            DeltaSample("text", base: noise, content: words, [(0, words.count, 0)]),
            DeltaSample(
                "blocks that were moved", base: noise, content: moved,
                [(0, 0, 10_000), (10_000, 0, -20_000), (10_000, 0, 0)]),
            DeltaSample(
                "one byte again and again", base: [5],
                content: [UInt8](repeating: 5, count: 5000), [(1, 4999, 0)]),
            shifted(noise), numbers(&random), renamed(words),
        ]
    }()

    /// Every hundredth byte is left out.
    private static func shifted(_ base: [UInt8]) -> DeltaSample {
        let content = base.enumerated().filter { $0.offset % 100 != 99 }.map(\.element)
        let steps = (0..<200).map { (99, 0, $0 == 199 ? 0 : 1) }
        return DeltaSample("small shifts", base: base, content: content, steps)
    }

    /// Words of which each grew by 300, with carries.
    private static func numbers(_ random: inout SeededRandom) -> DeltaSample {
        let values = (0..<3000).map { _ in UInt32(truncatingIfNeeded: random.next() >> 40) }
        func bytes(_ added: UInt32) -> [UInt8] {
            values.flatMap { value in
                (0..<4).map { UInt8(truncatingIfNeeded: (value &+ added) >> (8 * $0)) }
            }
        }
        return DeltaSample(
            "words that grew", base: bytes(0), content: bytes(300), [(12_000, 0, 0)])
    }

    /// A letter became another one everywhere.
    private static func renamed(_ base: [UInt8]) -> DeltaSample {
        let content = base.map { $0 == UInt8(ascii: "w") ? UInt8(ascii: "v") : $0 }
        return DeltaSample("names that changed", base: base, content: content, [(base.count, 0, 0)])
    }
}
