/// Codes numbers of one kind: how many bits, then the bits, of which the highest three are learnt too.
struct NumberModel {
    private static let contextCount = 3
    private static let stateBits = 11
    static var byteCount: Int {
        ContextStates.byteCount(contexts: contextCount, bits: stateBits)
            + Mixer.byteCount(votes: contextCount, sets: 2)
    }

    private let states: ContextStates
    private let mixer: Mixer
    /// How many bits the last number had.
    private(set) var bitCount: UInt32 = 0

    init(_ memory: ModelMemory) {
        states = ContextStates(contexts: Self.contextCount, bits: Self.stateBits, memory)
        mixer = Mixer(
            [Int32](repeating: 26000, count: Self.contextCount), sets: 2, memory)
    }

    /// - Parameters:
    ///   - value: at least 0, below 2^31 - 1; ignored by a decoder.
    ///   - context: what the number may depend on.
    mutating func code<Coder: BitCoder>(
        _ value: Int, context: UInt32, _ coder: inout Coder
    ) -> Int {
        let number = UInt32(truncatingIfNeeded: value &+ 1)
        let actualCount = UInt32(31 - min(number.leadingZeroBitCount, 31))
        states.set(0, 0)
        states.set(1, bitCount)
        states.set(2, context)
        var node: UInt32 = 1
        for shift in (0..<5 as Range<UInt32>).reversed() {
            node = node << 1 | learn(actualCount >> shift & 1, node, 0, &coder)
        }
        bitCount = node & 31
        var result = UInt64(1)
        var prefix: UInt32 = 1
        var shift = bitCount
        while shift > 0 {
            shift -= 1
            let bit: UInt32
            if bitCount - 1 - shift < 3 {
                bit = learn(number >> shift & 1, 32 &+ bitCount << 3 | prefix, 1, &coder)
                prefix = prefix << 1 | bit
            } else {
                bit = coder.code(number >> shift & 1, 1 << 15)
            }
            result = result << 1 | UInt64(bit)
        }
        return Int(result) - 1
    }

    private func learn<Coder: BitCoder>(
        _ bit: UInt32, _ node: UInt32, _ set: UInt32, _ coder: inout Coder
    ) -> UInt32 {
        states.vote(node, mixer.votes.start)
        let result = mixer.code(bit, set: set, &coder)
        states.learn(result)
        return result
    }
}

/// The models of all numbers of a body.
struct NumberModels {
    static let byteCount = 5 * NumberModel.byteCount + 4

    var copy: NumberModel
    var literal: NumberModel
    var seek: NumberModel
    /// The lengths of runs within a copy.
    var equal: NumberModel
    var corrected: NumberModel
    private let sign: Cells<UInt32>

    init(_ memory: ModelMemory) {
        copy = NumberModel(memory)
        literal = NumberModel(memory)
        seek = NumberModel(memory)
        equal = NumberModel(memory)
        corrected = NumberModel(memory)
        sign = memory.take(1)
    }

    /// Codes whether a seek goes back.
    func codeSign<Coder: BitCoder>(_ isBack: UInt32, _ coder: inout Coder) -> UInt32 {
        AdaptiveBit.code(isBack, sign.start, rate: 6, &coder)
    }
}
