import Delta
import Platform
import StorageTestSupport

@testable import DeltaSearch

@Suite("Making deltas") struct DeltaMakingTests {
    /// Makes a frame and decodes it.
    static func frame(
        of content: [UInt8], from base: [UInt8], limit: Int = .max,
        isInterrupted: () -> Bool = { false }
    ) throws -> [UInt8]? {
        let frame = try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
            try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
                try DeltaMaking.frame(
                    of: content, from: base, limit: limit, isInterrupted: isInterrupted)
            }
        }
        if let frame {
            let decoded = try DeltaDecoder.decode(frame, base: base, byteCount: content.count)
            expect(decoded == content)
        }
        return frame
    }

    static func steps(
        to content: [UInt8], from base: [UInt8], _ costs: AlignmentCosts = .text
    ) throws -> [DeltaStep] {
        try base.span.bytes.withUnsafeBytes { (base) throws(StoreError) in
            let search = try AlignmentSearch(base: base)
            return try content.span.bytes.withUnsafeBytes { (content) throws(StoreError) in
                try search.steps(to: content, costs: costs, isInterrupted: { false })
            }
        }
    }

    /// Text of words, as scripts are.
    static func text(_ random: inout SeededRandom, words: Int) -> [UInt8] {
        (0..<words).flatMap { _ in Array("name\(random.next() % 500)(value)".utf8) }
    }

    @Test func `works wherever the library is`() {
        expect(DeltaMaking.isAvailable)
    }

    @Test func `equal contents take a few bytes`() throws {
        var random = SeededRandom(seed: 1)
        let content = random.bytes(100_000)
        let frame = try require(try Self.frame(of: content, from: content))
        expect(frame.count < 16, "\(frame.count)")
    }

    @Test func `empty contents and empty bases have deltas`() throws {
        expect(try Self.frame(of: [], from: [])?.count == 3)
        expect(try Self.frame(of: [], from: [1, 2, 3])?.count == 3)
        expect(try Self.frame(of: [1], from: []) != nil)
        expect(try Self.frame(of: Array("some text".utf8), from: []) != nil)
        expect(try Self.frame(of: [1], from: [1]) != nil)
        expect(try Self.frame(of: Array("some text".utf8), from: [1, 2]) != nil)
    }

    @Test func `blocks that were moved are found`() throws {
        var random = SeededRandom(seed: 2)
        let base = random.bytes(60_000)
        let blocks = [40_000..<60_000, 0..<10_000, 25_000..<40_000, 10_000..<25_000]
        let content = blocks.flatMap { base[$0] }
        let steps = try Self.steps(to: content, from: base)
        expect(steps.reduce(0) { $0 + $1.literalByteCount } == 0)
        expect(steps.count <= 5, "\(steps.count)")
        let frame = try require(try Self.frame(of: content, from: base))
        expect(frame.count < 60, "\(frame.count)")
    }

    @Test func `edits of text cost little more than what is new`() throws {
        var random = SeededRandom(seed: 3)
        let base = Self.text(&random, words: 8000)
        var content = base
        for number in 0..<40 {
            let place = Int.random(in: 0..<content.count, using: &random)
            if number % 2 == 0 {
                content.insert(contentsOf: Array("new\(number)".utf8), at: place)
            } else {
                content.removeSubrange(place..<min(place + 9, content.count))
            }
        }
        let frame = try require(try Self.frame(of: content, from: base))
        expect(frame.count < 40 * 16, "\(frame.count)")
    }

    @Test func `steps lead over the whole content and stay in the base`() throws {
        var random = SeededRandom()
        for _ in 0..<60 {
            let base = Self.text(&random, words: .random(in: 0...60, using: &random))
            var content = base + base
            for _ in 0..<Int.random(in: 0...8, using: &random) where !content.isEmpty {
                let from = Int.random(in: 0..<content.count, using: &random)
                let to = Int.random(in: from...content.count, using: &random)
                switch random.next() % 3 {
                case 0: content.removeSubrange(from..<to)
                case 1: content += content[from..<to]
                default: content[from] &+= 1
                }
                content = Array(content.prefix(4000))
            }
            for costs in [AlignmentCosts.text, .bytecode] {
                let steps = try Self.steps(to: content, from: base, costs)
                check(steps, content.count, base.count)
                expect(try Self.steps(to: content, from: base, costs) == steps)
            }
            expect(try Self.frame(of: content, from: base) != nil)
        }
    }

    private func check(_ steps: [DeltaStep], _ contentByteCount: Int, _ baseByteCount: Int) {
        var position = 0
        var place = 0
        for step in steps {
            expect(step.copyByteCount >= 0 && step.literalByteCount >= 0)
            expect(place + step.copyByteCount <= baseByteCount)
            position += step.copyByteCount + step.literalByteCount
            place += step.copyByteCount + step.seek
            expect((0...baseByteCount).contains(place))
        }
        expect(position, equals: contentByteCount)
        expect(steps.last?.seek ?? 0, equals: 0)
    }

    @Test func `more alignments than are remembered do not lose any content`() throws {
        var random = SeededRandom(seed: 6)
        // Nothing matches for long: no alignment is ever clear.
        let base = (0..<60_000).map { _ in UInt8(random.next() % 4) }
        let content = (0..<60_000).map { _ in UInt8(random.next() % 4) }
        check(try Self.steps(to: content, from: base), content.count, base.count)
    }

    @Test func `what is larger than is useful is not made`() throws {
        var random = SeededRandom(seed: 4)
        let content = random.bytes(3000)
        expect(try Self.frame(of: content, from: [], limit: 2999) == nil)
        expect(try Self.frame(of: content, from: content, limit: 4) == nil)
        let frame = try require(try Self.frame(of: content, from: content))
        expect(try Self.frame(of: content, from: content, limit: frame.count) == frame)
        expect(try Self.frame(of: content, from: content, limit: frame.count - 1) == nil)
    }

    @Test func `it can be interrupted at any time`() throws {
        var random = SeededRandom(seed: 5)
        let base = Self.text(&random, words: 1000)
        let content = Self.text(&random, words: 1000)
        var total = 0
        _ = try Self.frame(of: content, from: base) {
            total += 1
            return false
        }
        expect(total > 40, "\(total)")
        for stop in [1, 2, total / 2, total] {
            var count = 0
            let error = #expect(throws: StoreError.self) {
                try Self.frame(of: content, from: base) {
                    count += 1
                    return count >= stop
                }
            }
            expect(error?.code, equals: .interrupted)
        }
    }

    @Test func `the memory is known before`() {
        let small = DeltaMaking.memoryByteCount(contentByteCount: 1000, baseByteCount: 1000)
        expect(small < 12 << 20, "\(small)")
        let large = DeltaMaking.memoryByteCount(
            contentByteCount: 18 << 20, baseByteCount: 18 << 20)
        expect(large < 224 << 20, "\(large)")
    }
}
