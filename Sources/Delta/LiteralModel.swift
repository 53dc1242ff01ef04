/// Predicts bytes that are like none of the base's, by those before them.
struct LiteralModel {
    private static let contextCount = 5
    private static let weightCount = 6
    private static let setCount = 48
    private static let matchBits: UInt32 = 16

    /// How many states each context has, as a power of two.
    private static func contextBits(_ scale: Int) -> Int { 12 + 2 * scale }

    static func byteCount(scale: Int) -> Int {
        2 * contextCount << contextBits(scale) + 4 << Int(matchBits) + 4 * setCount * weightCount
            + 4 * (32 + contextCount + weightCount) + 8 * contextCount
    }

    private let states: Cells<UInt16>
    private let contextBits: Int
    private let mask: UInt32
    private let weights: Cells<Int32>
    private let matches: Cells<UInt32>
    private let matchBits: Cells<UInt32>
    private let bases: Cells<UInt32>
    private let votes: Cells<Int32>
    private let slots: Cells<Int>
    private let curves = Curves.shared
    /// Where the content is that may come again; `nil` for none.
    private var match: Int?
    private var matchLength: UInt32 = 0

    init(scale: Int, _ memory: ModelMemory) {
        contextBits = Self.contextBits(scale)
        states = memory.take(Self.contextCount << contextBits)
        weights = memory.take(Self.setCount * Self.weightCount)
        matches = memory.take(1 << Int(Self.matchBits))
        matchBits = memory.take(32)
        bases = memory.take(Self.contextCount)
        votes = memory.take(Self.weightCount)
        slots = memory.take(Self.contextCount)
        mask = 1 << UInt32(contextBits) - 1
        for index in 0..<Self.setCount * Self.weightCount {
            let isMatch = index % Self.weightCount == Self.contextCount
            weights.start[index] = isMatch ? 20000 : 12000
        }
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
        bases[0] = hashed(before & 0xFF, 1)
        bases[1] = hashed(before & 0xFFFF, 2)
        bases[2] = hashed(before & 0xFF_FFFF, 3)
        bases[3] = hashed(before, 4)
        bases[4] = hashed(before & 0xFF | base << 8, 5)
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
        let matchCell = matchBits.start + Int(min(matchLength, 31))
        let selection = guess == nil ? 0 : 1 &+ min(matchLength / 4, 6)
        var node: UInt32 = 1
        var shift: UInt32 = 8
        while shift > 0 {
            shift &-= 1
            vote(node, guess.map { $0 >> shift & 1 }, matchCell)
            let mode: UInt32 = guess == nil ? 0 : 1
            let set = Int((selection &* 3 &+ mode) &* 2 &+ (shift == 7 ? 1 : 0))
            let weights = weights.start + set &* Self.weightCount
            var dot: Int64 = 0
            for index in 0..<Self.weightCount {
                dot &+= Int64(weights[index]) &* Int64(votes.start[index])
            }
            let probability = curves.squash(
                Int32(truncatingIfNeeded: min(max(dot >> 16, -4096), 4096)))
            let bit = coder.code(actual >> shift & 1, probability)
            let error = Int32(bitPattern: bit << 16 &- probability)
            for index in 0..<Self.weightCount {
                weights[index] &+= weightChange(votes.start[index], error)
            }
            for index in 0..<Self.contextCount {
                let slot = slots.start[index]
                states.start[slot] = CountedBit(states.start[slot]).updated(bit, curves)
            }
            if let guessed = guess {
                let isRight = guessed >> shift & 1 == bit
                matchCell.pointee = AdaptiveBit(matchCell.pointee)
                    .updated(isRight ? 1 : 0, rate: 6)
                if !isRight { guess = nil }
            }
            node = node << 1 | bit
        }
        return node & 0xFF
    }

    /// Finds the states for the next bit and their votes.
    @inline(__always)
    private func vote(
        _ node: UInt32, _ guess: UInt32?, _ matchCell: UnsafeMutablePointer<UInt32>
    ) {
        for index in 0..<Self.contextCount {
            var hash = bases.start[index] &+ node &* 0x9E37_79B1
            hash ^= hash >> 16
            let slot = index << contextBits | Int(hash & mask)
            slots.start[index] = slot
            votes.start[index] = CountedBit(states.start[slot]).vote(curves)
        }
        let right = curves.stretch(AdaptiveBit(matchCell.pointee).probability >> 4)
        votes.start[Self.contextCount] = guess.map { $0 != 0 ? right : 0 &- right } ?? 0
    }
}
