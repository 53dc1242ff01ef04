/// What the models of a frame keep, freed together.
final class ModelMemory {
    private var parts: [UnsafeMutableRawPointer] = []
    /// How many bytes were taken.
    private(set) var byteCount = 0

    /// What a pointer into nothing points at.
    var nothing: UnsafeMutablePointer<UInt8> {
        let cells: Cells<UInt8> = take(0)
        return cells.start
    }

    deinit { for part in parts { part.deallocate() } }

    /// Takes zeroed memory.
    func take<Element: FixedWidthInteger>(_ count: Int) -> Cells<Element> {
        let size = count * MemoryLayout<Element>.stride
        let part = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 16)
        parts.append(part)
        byteCount += size
        part.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        return Cells(start: part.bindMemory(to: Element.self, capacity: count))
    }
}

/// Cells of a ``ModelMemory``, valid as long as that.
struct Cells<Element: FixedWidthInteger> {
    let start: UnsafeMutablePointer<Element>

    @inline(__always)
    subscript(_ index: UInt32) -> Element {
        get { start[Int(index)] }
        nonmutating set { start[Int(index)] = newValue }
    }
}

/// The probability of a bit, which adapts the more slowly the more it has seen.
///
/// All zeros: one half, nothing seen.
struct AdaptiveBit {
    var state: UInt32

    @inline(__always)
    init(_ state: UInt32) { self.state = state }

    /// In 65,536ths.
    @inline(__always)
    var probability: UInt32 { state & 0xFFFF ^ 0x8000 }

    /// - Parameter rate: the binary logarithm of the slowest adaption, at most 7.
    @inline(__always)
    func updated(_ bit: UInt32, rate: UInt32) -> UInt32 {
        let seen = state >> 16
        let shift = min(seen &+ 1, rate)
        var now = probability
        if bit != 0 { now &+= (65535 &- now) >> shift } else { now &-= now >> shift }
        now = min(max(now, 64), 65472)
        return min(seen &+ 1, 7) << 16 | now ^ 0x8000
    }

    /// Codes a bit with the state in a cell, and learns from it.
    @inline(__always)
    static func code<Coder: BitCoder>(
        _ bit: UInt32, _ cell: UnsafeMutablePointer<UInt32>, rate: UInt32, _ coder: inout Coder
    ) -> UInt32 {
        let state = AdaptiveBit(cell.pointee)
        let result = coder.code(bit, state.probability)
        cell.pointee = state.updated(result, rate: rate)
        return result
    }
}

/// A probability of 12 bits that begins as a mean: for states that are hashed, of which most see little.
struct CountedBit {
    /// The probability, its highest bit turned, and how much was seen (0 to 15), in the lowest four bits.
    var state: UInt16

    @inline(__always)
    init(_ state: UInt16) { self.state = state }

    /// In 4096ths.
    @inline(__always)
    var probability: Int32 { Int32(state >> 4 ^ 0x800) }

    /// Its vote: nothing if nothing was seen, and little if little.
    @inline(__always)
    func vote(_ curves: Curves) -> Int32 {
        let seen = Int32(state & 15)
        let stretched = curves.stretch(UInt32(probability))
        return seen >= 3 ? stretched : seen == 0 ? 0 : (stretched &* (seen &+ 1)) / 4
    }

    @inline(__always)
    func updated(_ bit: UInt32, _ curves: Curves) -> UInt16 {
        let seen = state & 15
        let aim: Int32 = bit != 0 ? 4095 : 0
        let now = probability &+ ((aim &- probability) &* curves.share(seen)) >> 16
        return UInt16(truncatingIfNeeded: now) << 4 ^ 0x8000 | min(seen &+ 1, 15)
    }
}

/// Tables for mixing probabilities: the logistic function and its inverse, in integers, so that they are equal everywhere.
struct Curves {
    private let table: UnsafeMutablePointer<Int32>

    private static let squashed: UInt32 = 4096
    private static let shares: UInt32 = 8192

    /// 65,536 / (1 + e^(-i/4)), for i from 0 to 32.
    private static let logistic: [Int32] = [
        32768, 36843, 40793, 44511, 47911, 50941, 53581, 55834, 57724, 59287, 60565, 61598, 62428,
        63090, 63615, 64030, 64357, 64614, 64816, 64974, 65097, 65194, 65269, 65328, 65374, 65410,
        65438, 65459, 65476, 65489, 65500, 65508, 65514,
    ]

    /// Made once: what it points at lives as long as the program, and nobody writes it.
    nonisolated(unsafe) static let shared = Curves()

    private init() {
        table = .allocate(capacity: 8192 + 16)
        for x in -2048..<2048 {
            let size = abs(x)
            let step = Self.logistic[size / 64]
            let next = Self.logistic[min(size / 64 + 1, 32)]
            let value = step + (next - step) * Int32(size % 64) / 64
            table[Int(Self.squashed) + x + 2048] = x < 0 ? 65536 - value : value
        }
        // The least x whose probability is not below that of the middle of each step.
        var x: Int32 = -2047
        for probability in 0..<4096 {
            while x < 2047, squash(x) < UInt32(probability * 16 + 8) { x += 1 }
            table[probability] = x
        }
        for seen in 0..<16 { table[Int(Self.shares) + seen] = Int32(131_072 / (2 * seen + 3)) }
    }

    /// ln(p / (1 - p)) · 256, of p in 4096ths; between -2047 and 2047.
    @inline(__always)
    func stretch(_ probability: UInt32) -> Int32 { table[Int(probability & 4095)] }

    /// The inverse of ``stretch(_:)``, in 65,536ths.
    @inline(__always)
    func squash(_ x: Int32) -> UInt32 {
        UInt32(truncatingIfNeeded: table[4096 + 2048 + Int(min(max(x, -2047), 2047))])
    }

    /// By which share, in 65,536ths, a mean of so many moves to the next.
    @inline(__always)
    func share(_ seen: UInt16) -> Int32 { table[8192 + Int(seen & 15)] }
}

/// Mixes the votes of several models into one probability, by weights that learn which of them are right.
struct Mixer {
    let votes: Cells<Int32>
    private let weights: Cells<Int32>
    private let voteCount: Int
    private let curves = Curves.shared

    static func byteCount(votes: Int, sets: Int) -> Int { 4 * votes * (sets + 1) }

    /// - Parameter weights: the first weight of each vote, in 65,536ths, for all sets.
    init(_ weights: [Int32], sets: Int, _ memory: ModelMemory) {
        voteCount = weights.count
        votes = memory.take(weights.count)
        self.weights = memory.take(weights.count * sets)
        for index in 0..<weights.count * sets {
            self.weights.start[index] = weights[index % weights.count]
        }
    }

    /// Codes a bit by the ``votes``, and learns from it.
    @inline(__always)
    func code<Coder: BitCoder>(
        _ bit: UInt32, set: UInt32, _ coder: inout Coder
    ) -> UInt32 {
        let weights = weights.start + Int(set) &* voteCount
        var sum: Int64 = 0
        for index in 0..<voteCount {
            sum &+= Int64(weights[index]) &* Int64(votes.start[index])
        }
        let probability = curves.squash(Int32(truncatingIfNeeded: min(max(sum >> 16, -4096), 4096)))
        let result = coder.code(bit, probability)
        let error = Int32(bitPattern: result << 16 &- probability) &* 9
        for index in 0..<voteCount {
            weights[index] &+= (votes.start[index] &* error &+ (1 << 17)) >> 18
        }
        return result
    }
}

/// Counts by context, hashed: one state a context for each bit of a byte.
struct ContextStates {
    private let states: Cells<UInt16>
    private let hashes: Cells<UInt32>
    private let slots: Cells<UInt32>
    private let bitCount: UInt32
    private let contextCount: UInt32
    private let curves = Curves.shared

    static func byteCount(contexts: Int, bits: Int) -> Int {
        2 * contexts << bits + 8 * contexts
    }

    /// - Parameter bits: the binary logarithm of the states of each context.
    init(contexts: Int, bits: Int, _ memory: ModelMemory) {
        states = memory.take(contexts << bits)
        hashes = memory.take(contexts)
        slots = memory.take(contexts)
        bitCount = UInt32(bits)
        contextCount = UInt32(contexts)
    }

    /// Sets a context for the next bits.
    @inline(__always)
    func set(_ index: UInt32, _ first: UInt32, _ second: UInt32 = 0) {
        hashes[index] = hashed(first, second &+ index &* 0x51ED_270B)
    }

    /// Votes for the next bit.
    /// - Parameter node: the bits before it, after a 1.
    @inline(__always)
    func vote(_ node: UInt32, _ votes: UnsafeMutablePointer<Int32>) {
        for index in 0..<contextCount {
            var hash = hashes[index] &+ node &* 0x9E37_79B1
            hash ^= hash >> 16
            let slot = index << bitCount | hash & (1 << bitCount &- 1)
            slots[index] = slot
            votes[Int(index)] = CountedBit(states[slot]).vote(curves)
        }
    }

    @inline(__always)
    func learn(_ bit: UInt32) {
        for index in 0..<contextCount {
            let slot = slots[index]
            states[slot] = CountedBit(states[slot]).updated(bit, curves)
        }
    }
}

@inline(__always)
func hashed(_ first: UInt32, _ second: UInt32) -> UInt32 {
    var hash = first &* 0x9E37_79B1 ^ (second &+ 0x7F4A_7C15) &* 0x85EB_CA6B
    hash ^= hash >> 15
    hash = hash &* 0x2C1B_3C6D
    return hash ^ hash >> 13
}
