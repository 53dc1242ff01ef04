/// Predicts bytes that are like none of the base's, by those before them.
struct LiteralModel {
    private static let contextCount = 5
    private static let setCount = 48
    private static let matchBits: UInt32 = 16

    /// How many states each context has, as a power of two.
    private static func stateBits(_ scale: Int) -> Int { 12 + 2 * scale }

    static func byteCount(scale: Int) -> Int {
        ContextStates.byteCount(contexts: contextCount, bits: stateBits(scale))
            + Mixer.byteCount(votes: contextCount + 1, sets: setCount)
            + 4 << Int(matchBits) + 4 * 32
    }

    private let states: ContextStates
    private let mixer: Mixer
    private let matches: Cells<UInt32>
    private let matchRecords: Cells<UInt32>
    private let curves = Curves.shared
    /// Where the content is that may come again; `nil` for none.
    private var match: Int?
    private var matchLength: UInt32 = 0

    init(scale: Int, _ memory: ModelMemory) {
        states = ContextStates(
            contexts: Self.contextCount, bits: Self.stateBits(scale), memory)
        mixer = Mixer(
            [Int32](repeating: 16000, count: Self.contextCount) + [20000], sets: Self.setCount,
            memory)
        matches = memory.take(1 << Int(Self.matchBits))
        matchRecords = memory.take(32)
    }

    /// Codes a byte.
    /// - Parameters:
    ///   - actual: the byte; ignored by a decoder.
    ///   - target: the content, of which so many bytes as `position` says are known.
    ///   - base: the base's next two bytes, the first in the lowest.
    mutating func code<Coder: BitCoder>(
        _ actual: UInt32, _ target: UnsafePointer<UInt8>, position: Int, base: UInt32,
        _ coder: inout Coder
    ) -> UInt8 {
        var before: UInt32 = 0
        for back in 0..<min(position, 4) {
            before |= UInt32(target[position &- 1 &- back]) << UInt32(8 &* back)
        }
        states.set(0, before & 0xFF)
        states.set(1, before & 0xFFFF)
        states.set(2, before & 0xFF_FFFF)
        states.set(3, before)
        states.set(4, before & 0xFF | base << 8)
        let guess = match.map { UInt32(target[$0]) }
        let result = codeBits(actual, guess, &coder)
        if let match, guess == result {
            self.match = match &+ 1
            matchLength &+= 1
        } else {
            match = nil
            matchLength = 0
        }
        let place = hashed(result | before << 8, before >> 24) & 0xFFFF
        if match == nil, matches[place] != 0 {
            match = Int(matches[place])
            matchLength = 1
        }
        matches[place] = UInt32(truncatingIfNeeded: position &+ 1)
        return UInt8(truncatingIfNeeded: result)
    }

    @inline(__always)
    private func codeBits<Coder: BitCoder>(
        _ actual: UInt32, _ guess: UInt32?, _ coder: inout Coder
    ) -> UInt32 {
        var guess = guess
        let record = matchRecords.start + Int(min(matchLength, 31))
        let selection = guess == nil ? 0 : 1 &+ min(matchLength / 4, 6)
        let matchVote = mixer.votes.start + Self.contextCount
        var node: UInt32 = 1
        var shift: UInt32 = 8
        while shift > 0 {
            shift &-= 1
            states.vote(node, mixer.votes.start)
            matchVote.pointee = 0
            if let guess {
                let right = curves.stretch(AdaptiveBit(record.pointee).probability >> 4)
                matchVote.pointee = guess >> shift & 1 != 0 ? right : 0 &- right
            }
            let set = (selection &* 3 &+ (guess == nil ? 0 : 1)) &* 2 &+ (shift == 7 ? 1 : 0)
            let bit = mixer.code(actual >> shift & 1, set: set, &coder)
            states.learn(bit)
            if let guessed = guess {
                let isRight = guessed >> shift & 1 == bit
                record.pointee = AdaptiveBit(record.pointee).updated(isRight ? 1 : 0, rate: 6)
                if !isRight { guess = nil }
            }
            node = node << 1 | bit
        }
        return node & 0xFF
    }
}
