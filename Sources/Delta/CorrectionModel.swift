/// Predicts bytes that are copied from the base, but may differ: by guesses, each with its record.
struct CorrectionModel {
    /// The base's byte; what followed the same neighbours, and the same at this phase; the base plus the difference of
    /// the words 4 and 16 bytes before; plus the difference that followed the last differences before.
    private static let guessCount = 6
    private static let none: UInt32 = 256
    private static let tableBits = 16
    private static let tableCount = 1 << tableBits
    private static let historyBits: UInt32 = 15
    private static let ringByteCountMax = 1 << 20
    private static let setCount = 36
    private static let contextCount = 6
    private static let decisionCount = 3
    private static let stateBits = 14

    private static func ringByteCount(_ modelledByteCount: Int) -> Int {
        var count = 4096
        while count < min(modelledByteCount, ringByteCountMax) { count *= 2 }
        return count
    }

    static func byteCount(modelledByteCount: Int) -> Int {
        (4 * 2 + 2 * 4) * tableCount + 4 << Int(historyBits) + ringByteCount(modelledByteCount)
            + 8 * guessCount * 256 + 4 * 2 * 8
            + Mixer.byteCount(votes: 3 + decisionCount, sets: setCount)
            + ContextStates.byteCount(contexts: decisionCount, bits: stateBits)
            + Mixer.byteCount(votes: 2 + contextCount, sets: 8)
            + ContextStates.byteCount(contexts: contextCount, bits: stateBits)
    }

    private let curves = Curves.shared
    private let guesses: Cells<UInt32>
    private let contexts: Cells<UInt32>
    private let records: Cells<UInt32>
    private let seconds: Cells<UInt32>
    private let byNeighbours: Cells<UInt16>
    private let byHistory: Cells<UInt16>
    private let mixer: Mixer
    private let decisions: ContextStates
    private let differences: ContextStates
    private let differenceMixer: Mixer
    private let differencesOfByte: Cells<UInt32>
    private let differencesOfChange: Cells<UInt32>
    /// A byte in the lower eight bits, and how sure it is.
    private let followers: Cells<UInt16>
    private let phasedFollowers: Cells<UInt16>

    /// The last differences, and where the twelve before were seen last, plus 1.
    private let ring: Cells<UInt8>
    private let ringMask: Int
    private let places: Cells<UInt32>
    private var count = 0
    private var recent: UInt64 = 0
    private var older: UInt32 = 0
    private var likely: Int?
    private var likelyLength: UInt32 = 0

    /// Which of the last bytes differed from the base; the last in the lowest bit.
    private var changes: UInt32 = 0
    /// Which of the last guesses by words were right.
    private var wordRecord: (UInt32, UInt32) = (0, 0)

    init(modelledByteCount: Int, _ memory: ModelMemory) {
        guesses = memory.take(8)
        contexts = memory.take(8)
        records = memory.take(Self.guessCount * 256)
        seconds = memory.take(Self.guessCount * 256)
        byNeighbours = memory.take(Self.tableCount)
        byHistory = memory.take(Self.tableCount)
        differencesOfByte = memory.take(Self.tableCount)
        differencesOfChange = memory.take(Self.tableCount)
        followers = memory.take(Self.tableCount)
        phasedFollowers = memory.take(Self.tableCount)
        places = memory.take(1 << Int(Self.historyBits))
        let ringByteCount = Self.ringByteCount(modelledByteCount)
        ring = memory.take(ringByteCount)
        ringMask = ringByteCount - 1
        decisions = ContextStates(contexts: Self.decisionCount, bits: Self.stateBits, memory)
        mixer = Mixer([30000, 14000, 14000, 10000, 10000, 10000], sets: Self.setCount, memory)
        differences = ContextStates(
            contexts: Self.contextCount, bits: Self.stateBits, memory)
        differenceMixer = Mixer(
            [20000, 20000] + [Int32](repeating: 14000, count: Self.contextCount), sets: 8, memory)
    }

    /// Begins another run of bytes.
    mutating func begin() { changes = 0 }

    /// Codes a byte.
    /// - Parameters:
    ///   - actual: the byte; ignored by a decoder.
    ///   - base: the base at its place, with 32 bytes before and after it.
    ///   - target: the content, of which so many bytes as `position` says are known.
    mutating func code<Coder: BitCoder>(
        _ actual: UInt32, base: UnsafePointer<UInt8>, _ target: UnsafePointer<UInt8>,
        position: Int, _ coder: inout Coder
    ) -> UInt8 {
        let same = UInt32(base[0])
        let left = UInt32(base[-1])
        let right = UInt32(base[1])
        let change = position > 0 ? (UInt32(target[position &- 1]) &- left) & 0xFF : 0
        let phase = UInt32(truncatingIfNeeded: position & 3)
        let around = same | right << 8 | left << 16 | change << 24
        let follower = followers.start + Int(hashed(around, 99) & 0xFFFF)
        let phased =
            phasedFollowers.start
            + Int(hashed(same | right << 8 | change << 16 | phase << 24, 98) & 0xFFFF)
        guess(same, 0, changes & 0xFF)
        guess(same, 1, follower)
        guess(same, 2, phased)
        let words = BaseWord(base: base, target: target, position: position)
        guess(same, 3, words, 4, wordRecord.0)
        guess(same, 4, words, 16, wordRecord.1)
        guessByDifferences(same)
        let (first, agreeing) = favourite()
        let guessed = guesses[first]
        let isSame: UInt32 = guessed == same ? 1 : 0
        let neighbours = hashed(
            same | right << 8 | left << 16 | isSame << 24 | (change != 0 ? 1 : 0) << 25, 7)
        let history = hashed(
            (changes & 0xFF | first << 8 | agreeing << 12 | same << 16) | isSame << 24
                | phase << 25, 5)
        var before: UInt32 = 0
        for back in 0..<min(position, 3) {
            before |= UInt32(target[position &- 1 &- back]) << UInt32(8 &* back)
        }
        decisions.set(0, guessed | (before & 0xFFFF) << 8 | isSame << 24)
        decisions.set(1, UInt32(truncatingIfNeeded: recent) & 0xFF_FFFF, first)
        decisions.set(2, contexts[0] | contexts[first] << 8 | first << 16 | agreeing << 20)
        let isRight = decide(
            actual == guessed ? 1 : 0,
            AdaptiveBit(records[first << 8 | contexts[first]]).probability,
            byNeighbours.start + Int(neighbours & 0xFFFF), byHistory.start + Int(history & 0xFFFF),
            first &* 6 &+ min(agreeing, 5), &coder)
        let value =
            isRight != 0
            ? guessed
            : codeOther(
                actual, same, change, phase, not: guessed, base, target, position,
                &coder)
        learn(value, same, phase, follower, phased)
        return UInt8(truncatingIfNeeded: value)
    }

    // MARK: guesses

    @inline(__always)
    private func guess(_ same: UInt32, _ index: UInt32, _ context: UInt32) {
        guesses[index] = same
        contexts[index] = context
    }

    @inline(__always)
    private func guess(_ same: UInt32, _ index: UInt32, _ follower: UnsafeMutablePointer<UInt16>) {
        let sureness = UInt32(follower.pointee >> 8)
        let byte = UInt32(follower.pointee & 0xFF)
        guesses[index] = sureness != 0 ? byte : Self.none
        contexts[index] = sureness << 1 | (sureness != 0 && byte == same ? 1 : 0)
    }

    @inline(__always)
    private func guess(
        _ same: UInt32, _ index: UInt32, _ words: BaseWord, _ distance: Int, _ record: UInt32
    ) {
        guard let guess = words.guess(distance) else {
            guesses[index] = Self.none
            contexts[index] = 0
            return
        }
        guesses[index] = guess.byte
        contexts[index] = (record & 15) << 2 &+ guess.context &+ (guess.byte == same ? 64 : 0)
    }

    @inline(__always)
    private func guessByDifferences(_ same: UInt32) {
        guard let likely else {
            guesses[5] = Self.none
            contexts[5] = 0
            return
        }
        let difference = UInt32(ring.start[likely & ringMask])
        guesses[5] = (same &+ difference) & 0xFF
        contexts[5] = min(likelyLength, 31) << 1 | (difference != 0 ? 1 : 0)
    }

    /// The guess with the best record, and how many guess the same, itself included.
    @inline(__always)
    private func favourite() -> (index: UInt32, agreeing: UInt32) {
        var best: UInt32 = 0
        var first: UInt32 = 0
        for index in 0..<UInt32(Self.guessCount) where guesses[index] != Self.none {
            let record = AdaptiveBit(records[index << 8 | contexts[index]]).probability
            if record >= best {
                best = record
                first = index
            }
        }
        let guessed = guesses[first]
        var agreeing: UInt32 = 0
        for index in 0..<UInt32(Self.guessCount) where guesses[index] == guessed { agreeing &+= 1 }
        return (first, agreeing)
    }

    // MARK: coding

    @inline(__always)
    private func decide<Coder: BitCoder>(
        _ actual: UInt32, _ record: UInt32, _ first: UnsafeMutablePointer<UInt16>,
        _ second: UnsafeMutablePointer<UInt16>, _ set: UInt32, _ coder: inout Coder
    ) -> UInt32 {
        let votes = mixer.votes.start
        votes[0] = curves.stretch(record >> 4)
        votes[1] = CountedBit(first.pointee).vote(curves)
        votes[2] = CountedBit(second.pointee).vote(curves)
        decisions.vote(1, votes + 3)
        let bit = mixer.code(actual, set: set, &coder)
        decisions.learn(bit)
        first.pointee = CountedBit(first.pointee).updated(bit, curves)
        second.pointee = CountedBit(second.pointee).updated(bit, curves)
        return bit
    }

    /// Codes a byte that the first guess missed: by another guess, else by its difference to the base.
    private func codeOther<Coder: BitCoder>(
        _ actual: UInt32, _ same: UInt32, _ change: UInt32, _ phase: UInt32, not missed: UInt32,
        _ base: UnsafePointer<UInt8>, _ target: UnsafePointer<UInt8>, _ position: Int,
        _ coder: inout Coder
    ) -> UInt32 {
        var best: UInt32 = 0
        var second: UInt32?
        for index in 0..<UInt32(Self.guessCount)
        where guesses[index] != Self.none && guesses[index] != missed {
            let record = AdaptiveBit(records[index << 8 | contexts[index]]).probability
            if record >= best {
                best = record
                second = index
            }
        }
        if let second {
            let cell = seconds.start + Int(second << 8 | contexts[second])
            let isRight = AdaptiveBit.code(
                actual == guesses[second] ? 1 : 0, cell, rate: 6, &coder)
            if isRight != 0 { return guesses[second] }
        }
        let difference = (actual &- same) & 0xFF
        let ofByte = differencesOfByte.start + Int(same << 8)
        let ofChange =
            differencesOfChange.start + Int((hashed(change, phase &+ 1) & 0xFF) << 8)
        var before: UInt32 = 0
        for back in 0..<min(position, 3) {
            before |= UInt32(target[position &- 1 &- back]) << UInt32(8 &* back)
        }
        differences.set(0, same | (before & 0xFF) << 8)
        differences.set(1, same | (before & 0xFFFF) << 8)
        differences.set(2, same | before << 8)
        differences.set(3, same | UInt32(base[1]) << 8 | change << 16)
        let votes = differenceMixer.votes.start
        var node: UInt32 = 1
        var shift: UInt32 = 8
        while shift > 0 {
            shift &-= 1
            let states = (AdaptiveBit(ofByte[Int(node)]), AdaptiveBit(ofChange[Int(node)]))
            votes[0] = curves.stretch(states.0.probability >> 4)
            votes[1] = curves.stretch(states.1.probability >> 4)
            differences.vote(node, votes + 2)
            let bit = differenceMixer.code(difference >> shift & 1, set: shift, &coder)
            ofByte[Int(node)] = states.0.updated(bit, rate: 5)
            ofChange[Int(node)] = states.1.updated(bit, rate: 5)
            differences.learn(bit)
            node = node << 1 | bit
        }
        return (same &+ node) & 0xFF
    }

    // MARK: learning

    @inline(__always)
    private mutating func learn(
        _ value: UInt32, _ same: UInt32, _ phase: UInt32,
        _ follower: UnsafeMutablePointer<UInt16>, _ phased: UnsafeMutablePointer<UInt16>
    ) {
        for index in 0..<UInt32(Self.guessCount) where guesses[index] != Self.none {
            let cell = records.start + Int(index << 8 | contexts[index])
            cell.pointee = AdaptiveBit(cell.pointee)
                .updated(guesses[index] == value ? 1 : 0, rate: 6)
        }
        if guesses[3] != same || value != same || phase == 0 {
            wordRecord.0 = (wordRecord.0 << 1 | (guesses[3] == value ? 1 : 0)) & 31
        }
        if guesses[4] != same || value != same || phase == 0 {
            wordRecord.1 = (wordRecord.1 << 1 | (guesses[4] == value ? 1 : 0)) & 31
        }
        Self.learn(value, follower)
        Self.learn(value, phased)
        remember(UInt8(truncatingIfNeeded: value &- same))
        changes = changes << 1 | (value != same ? 1 : 0)
    }

    @inline(__always)
    private static func learn(_ value: UInt32, _ follower: UnsafeMutablePointer<UInt16>) {
        let sureness = follower.pointee >> 8
        let byte = UInt16(truncatingIfNeeded: value)
        if sureness != 0, follower.pointee & 0xFF == byte {
            if sureness < 100 { follower.pointee &+= 256 }
        } else {
            follower.pointee = byte | (sureness > 3 ? 2 : 1) << 8
        }
    }

    @inline(__always)
    private mutating func remember(_ difference: UInt8) {
        ring.start[count & ringMask] = difference
        if let place = likely, ring.start[place & ringMask] == difference {
            likely = place &+ 1
            likelyLength &+= 1
        } else {
            likely = nil
            likelyLength = 0
        }
        older = older << 8 | UInt32(truncatingIfNeeded: recent >> 56)
        recent = recent << 8 | UInt64(difference)
        let mixed = recent &* 0x9E37_79B9_7F4A_7C15 ^ UInt64(older) &* 0xC2B2_AE3D_27D4_EB4F
        let cell = places.start + Int(mixed >> UInt64(64 - Self.historyBits))
        if likely == nil, cell.pointee != 0, count &- Int(cell.pointee) < ringMask &- 16 {
            likely = Int(cell.pointee)
            likelyLength = 1
        }
        count &+= 1
        cell.pointee = UInt32(truncatingIfNeeded: count)
    }
}

/// The word of the base that a byte belongs to, where words begin at multiples of 4 in the content.
private struct BaseWord {
    private let base: UnsafePointer<UInt8>
    private let target: UnsafePointer<UInt8>
    private let start: Int
    private let word: UInt32
    private let known: UInt32
    private let mask: UInt32
    private let shift: UInt32

    @inline(__always)
    init(base: UnsafePointer<UInt8>, target: UnsafePointer<UInt8>, position: Int) {
        let phase = position & 3
        self.base = base - phase
        self.target = target
        start = position &- phase
        word = Self.load(base - phase)
        shift = UInt32(truncatingIfNeeded: phase &* 8)
        mask = 1 << shift &- 1
        var known: UInt32 = 0
        for index in 0..<phase { known |= UInt32(target[start &+ index]) << UInt32(8 &* index) }
        self.known = known
    }

    /// The byte if the word differs from the base's by as much as the one so many bytes before it.
    ///
    /// The context: whether that differs at all (1), and whether it is right so far (2).
    @inline(__always)
    func guess(_ distance: Int) -> (byte: UInt32, context: UInt32)? {
        guard start >= distance else { return nil }
        let difference = Self.load(target + (start &- distance)) &- Self.load(base - distance)
        let whole = word &+ difference
        let isRight = (whole ^ known) & mask == 0
        return (whole >> shift & 0xFF, (difference != 0 ? 1 : 0) | (isRight ? 2 : 0))
    }

    @inline(__always)
    private static func load(_ bytes: UnsafePointer<UInt8>) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(bytes).loadUnaligned(as: UInt32.self))
    }
}
