/// Codes numbers of one kind: how many bits, then the bits, of which the highest three are learnt too.
struct NumberModel {
    static let cellCount = 64 + 32 * 8

    private let cells: Cells<UInt32>

    init(_ memory: ModelMemory) { cells = memory.take(Self.cellCount) }

    /// - Parameter value: at least 0, below 2^31 - 1; ignored by a decoder.
    func code<Coder: BitCoder>(_ value: Int, _ coder: inout Coder) -> Int {
        let number = UInt32(truncatingIfNeeded: value &+ 1)
        let actualCount = UInt32(31 - min(number.leadingZeroBitCount, 31))
        var node: UInt32 = 1
        for shift in (0..<5 as Range<UInt32>).reversed() {
            let bit = AdaptiveBit.code(
                actualCount >> shift & 1, cells.start + Int(node), rate: 5, &coder)
            node = node << 1 | bit
        }
        let bitCount = node & 31
        var result = UInt64(1)
        var context: UInt32 = 1
        var shift = bitCount
        while shift > 0 {
            shift -= 1
            let bit: UInt32
            if bitCount - 1 - shift < 3 {
                let cell = cells.start + Int(64 + bitCount * 8 + context)
                bit = AdaptiveBit.code(number >> shift & 1, cell, rate: 6, &coder)
                context = context << 1 | bit
            } else {
                bit = coder.code(number >> shift & 1, 1 << 15)
            }
            result = result << 1 | UInt64(bit)
        }
        return Int(result) - 1
    }
}

/// The models of all numbers of a body.
struct NumberModels {
    static let byteCount = 4 * (5 * NumberModel.cellCount + 1)

    let copy: NumberModel
    let literal: NumberModel
    let seek: NumberModel
    /// The lengths of runs within a copy.
    let equal: NumberModel
    let corrected: NumberModel
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
