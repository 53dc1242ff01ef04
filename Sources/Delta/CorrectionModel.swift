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
    private static let firstCount = 7
    private static let secondCount = 3
    private static let differenceCount = 8

    private static func ringByteCount(_ modelledByteCount: Int) -> Int {
        var count = 4096
        while count < min(modelledByteCount, ringByteCountMax) { count *= 2 }
        return count
    }

    /// How many states each context has, as a power of two.
    private static func stateBits(_ modelledByteCount: Int) -> Int {
        modelledByteCount < 4096 ? 12 : modelledByteCount < 32_768 ? 14 : 16
    }

    static func byteCount(modelledByteCount: Int) -> Int {
        let contextCount = firstCount + secondCount + differenceCount
        let tables = (2 * 4 + 2 * 2) * tableCount + 4 << Int(historyBits)
        return tables + ringByteCount(modelledByteCount) + 2 * 4 * (guessCount * 256 + 8)
            + ContextStates.byteCount(contexts: contextCount, bits: stateBits(modelledByteCount))
            + Mixer.byteCount(votes: 1 + firstCount, sets: setCount)
            + Mixer.byteCount(votes: 1 + secondCount, sets: guessCount)
            + Mixer.byteCount(votes: 2 + differenceCount, sets: 8)
    }

    private let curves = Curves.shared
    private let guesses: Cells<UInt32>
    private let contexts: Cells<UInt32>
    private let records: Cells<UInt32>
    private let seconds: Cells<UInt32>
    /// For whether the first guess is right, whether the second is, and else for the difference.
    private let firstStates: ContextStates
    private let firstMixer: Mixer
    private let secondStates: ContextStates
    private let secondMixer: Mixer
    private let differenceStates: ContextStates
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
        differencesOfByte = memory.take(Self.tableCount)
        differencesOfChange = memory.take(Self.tableCount)
        followers = memory.take(Self.tableCount)
        phasedFollowers = memory.take(Self.tableCount)
        places = memory.take(1 << Int(Self.historyBits))
        let ringByteCount = Self.ringByteCount(modelledByteCount)
        ring = memory.take(ringByteCount)
        ringMask = ringByteCount - 1
        func states(_ contextCount: Int) -> ContextStates {
            ContextStates(
                contexts: contextCount, bits: Self.stateBits(modelledByteCount), memory)
        }
        func mixer(_ weights: [Int32], _ weight: Int32, _ contextCount: Int, sets: Int) -> Mixer {
            Mixer(
                weights + [Int32](repeating: weight, count: contextCount), sets: sets, memory)
        }
        firstStates = states(Self.firstCount)
        firstMixer = mixer([26000], 9500, Self.firstCount, sets: Self.setCount)
        secondStates = states(Self.secondCount)
        secondMixer = mixer([30000], 12000, Self.secondCount, sets: Self.guessCount)
        differenceStates = states(Self.differenceCount)
        differenceMixer = mixer([20000, 20000], 14000, Self.differenceCount, sets: 8)
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
        let around = Surroundings(base, target, position)
        let same = around.same
        let follower = followers.start + Int(around.neighbours(99) & 0xFFFF)
        let phased = phasedFollowers.start + Int(around.phasedNeighbours(98) & 0xFFFF)
        guess(same, 0, changes & 0xFF)
        guess(same, 1, follower)
        guess(same, 2, phased)
        let words = BaseWord(base: base, target: target, position: position)
        guess(same, 3, words, 4, wordRecord.0)
        guess(same, 4, words, 16, wordRecord.1)
        guessByDifferences(same)
        let (first, agreeing) = favourite()
        let value: UInt32
        if codeFirst(actual, around, first, agreeing, &coder) != 0 {
            value = guesses[first]
        } else if let found = codeSecond(actual, around, not: guesses[first], &coder) {
            value = found
        } else {
            value = codeDifference(actual, around, &coder)
        }
        learn(value, around, follower, phased)
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

    /// The last differences, as many bytes as asked for.
    @inline(__always)
    private func last(_ count: UInt32) -> UInt32 {
        UInt32(truncatingIfNeeded: recent) & (1 << (8 &* count) &- 1)
    }

    /// Codes whether the best guess is right.
    @inline(__always)
    private func codeFirst<Coder: BitCoder>(
        _ actual: UInt32, _ around: Surroundings, _ first: UInt32, _ agreeing: UInt32,
        _ coder: inout Coder
    ) -> UInt32 {
        let guessed = guesses[first]
        let same = around.same
        let isSame: UInt32 = guessed == same ? 1 : 0
        let recent = changes & 0xFF | first << 8 | agreeing << 12 | same << 16
        firstStates.set(0, around.sides, isSame << 1 | (around.change != 0 ? 1 : 0))
        firstStates.set(1, recent | isSame << 24 | around.phase << 25)
        firstStates.set(2, guessed | (around.before & 0xFFFF) << 8 | isSame << 24)
        firstStates.set(3, last(3), first)
        firstStates.set(4, contexts[0] | contexts[first] << 8 | first << 16 | agreeing << 20)
        firstStates.set(5, around.ahead, isSame)
        firstStates.set(6, around.behind, isSame)
        let votes = firstMixer.votes.start
        let record = AdaptiveBit(records[first << 8 | contexts[first]])
        votes[0] = curves.stretch(record.probability >> 4)
        firstStates.vote(1, votes + 1)
        let bit = firstMixer.code(
            actual == guessed ? 1 : 0, set: first &* 6 &+ min(agreeing, 5), &coder)
        firstStates.learn(bit)
        return bit
    }

    /// Codes whether the best of the other guesses is right.
    /// - Returns: the byte; `nil` if none is.
    private func codeSecond<Coder: BitCoder>(
        _ actual: UInt32, _ around: Surroundings, not missed: UInt32, _ coder: inout Coder
    ) -> UInt32? {
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
        guard let second else { return nil }
        let place = second << 8 | contexts[second]
        let record = AdaptiveBit(seconds[place])
        let votes = secondMixer.votes.start
        votes[0] = curves.stretch(record.probability >> 4)
        secondStates.set(0, guesses[second] | missed << 8 | around.same << 16)
        secondStates.set(1, second | missed << 8 | around.same << 16, contexts[second])
        secondStates.set(2, last(2) | second << 16)
        secondStates.vote(1, votes + 1)
        let bit = secondMixer.code(actual == guesses[second] ? 1 : 0, set: second, &coder)
        secondStates.learn(bit)
        seconds[place] = record.updated(bit, rate: 6)
        return bit != 0 ? guesses[second] : nil
    }

    /// Codes a byte by its difference to the base.
    private func codeDifference<Coder: BitCoder>(
        _ actual: UInt32, _ around: Surroundings, _ coder: inout Coder
    ) -> UInt32 {
        let same = around.same
        let difference = (actual &- same) & 0xFF
        let ofByte = differencesOfByte.start + Int(same << 8)
        let change = hashed(around.change, around.phase &+ 1) & 0xFF
        let ofChange = differencesOfChange.start + Int(change << 8)
        differenceStates.set(0, same | (around.before & 0xFF) << 8)
        differenceStates.set(1, same | (around.before & 0xFFFF) << 8)
        differenceStates.set(2, same | around.before << 8)
        differenceStates.set(3, same | (around.ahead & 0xFF00) | around.change << 16)
        differenceStates.set(4, last(2))
        differenceStates.set(5, UInt32(truncatingIfNeeded: recent >> 24) & 0xFF, around.phase)
        differenceStates.set(6, last(2) | same << 16)
        differenceStates.set(7, around.ahead & 0xFF_FFFF)
        let votes = differenceMixer.votes.start
        var node: UInt32 = 1
        var shift: UInt32 = 8
        while shift > 0 {
            shift &-= 1
            let states = (AdaptiveBit(ofByte[Int(node)]), AdaptiveBit(ofChange[Int(node)]))
            votes[0] = curves.stretch(states.0.probability >> 4)
            votes[1] = curves.stretch(states.1.probability >> 4)
            differenceStates.vote(node, votes + 2)
            let bit = differenceMixer.code(difference >> shift & 1, set: shift, &coder)
            ofByte[Int(node)] = states.0.updated(bit, rate: 5)
            ofChange[Int(node)] = states.1.updated(bit, rate: 5)
            differenceStates.learn(bit)
            node = node << 1 | bit
        }
        return (same &+ node) & 0xFF
    }

    // MARK: learning

    @inline(__always)
    private mutating func learn(
        _ value: UInt32, _ around: Surroundings,
        _ follower: UnsafeMutablePointer<UInt16>, _ phased: UnsafeMutablePointer<UInt16>
    ) {
        let same = around.same
        for index in 0..<UInt32(Self.guessCount) where guesses[index] != Self.none {
            let cell = records.start + Int(index << 8 | contexts[index])
            cell.pointee = AdaptiveBit(cell.pointee)
                .updated(guesses[index] == value ? 1 : 0, rate: 6)
        }
        if guesses[3] != same || value != same || around.phase == 0 {
            wordRecord.0 = (wordRecord.0 << 1 | (guesses[3] == value ? 1 : 0)) & 31
        }
        if guesses[4] != same || value != same || around.phase == 0 {
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
