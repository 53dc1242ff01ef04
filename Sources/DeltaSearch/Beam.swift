internal import Delta
internal import Platform

/// A beam search: goes through the content byte by byte, with the likeliest alignments of what was seen so far.
struct Beam {
    /// How an alignment came to be: where in the content it begins, and what was before.
    private struct Node {
        var previous: Int32
        var isLiteral: Bool
        var position: Int
        var place: Int
    }

    private struct Hypothesis {
        /// The place in the base of the next byte.
        var place: Int
        var cost: Int
        var node: Int32
        /// Until where in the content it is known to match.
        var matchEnd: Int
        var isLiteral: Bool
        /// How many bytes were equal since the last that differed, at most `sinceMax`.
        var since: Int
        /// What it is chosen by: the cost, less for what matches ahead.
        var key: Int
    }

    private static let width = 12
    private static let literalWidth = 4
    private static let keyRange = 150 * 256
    private static let matchMin = 6
    private static let nearby = 64
    private static let sinceMax = 60
    private static let nodeCountMax = 1 << 16
    static let nodeByteCount = 2 * MemoryLayout<Node>.stride * nodeCountMax

    private let suffixes: SuffixArray
    private let old: UnsafePointer<UInt8>
    private let oldCount: Int
    private let new: UnsafePointer<UInt8>
    private let newCount: Int
    private let costs: AlignmentCosts
    private var hypotheses: [Hypothesis] = []
    private var next: [Hypothesis] = []
    private var nodes: [Node] = []
    private var position = 0
    /// The last long match that was offered.
    private var offeredStart = -1
    private var offeredCount = 0
    private var steps = StepList()

    init(
        _ suffixes: SuffixArray, _ old: UnsafePointer<UInt8>, _ oldCount: Int,
        _ new: UnsafePointer<UInt8>, _ newCount: Int, _ costs: AlignmentCosts
    ) {
        self.suffixes = suffixes
        self.old = old
        self.oldCount = oldCount
        self.new = new
        self.newCount = newCount
        self.costs = costs
        nodes.append(Node(previous: -1, isLiteral: false, position: 0, place: 0))
        hypotheses.append(
            Hypothesis(
                place: 0, cost: 0, node: 0, matchEnd: 0, isLiteral: false, since: Self.sinceMax,
                key: 0))
    }

    mutating func search(_ isInterrupted: () -> Bool) throws(StoreError) -> [DeltaStep] {
        var round = 0
        while position < newCount {
            round &+= 1
            if round & 255 == 0, isInterrupted() {
                throw StoreError(.interrupted, "unable to make a delta: asked to stop")
            }
            let best = self.best
            let matching = best.isLiteral ? 0 : equalCount(at: best.place)
            if matching >= 64 {
                settle(best)
                hypotheses[0].place += matching - 32
                position += matching - 32
                guard steps.count <= DeltaLimits.stepCountMax else { throw Self.tooMany }
                continue
            }
            if nodes.count >= Self.nodeCountMax {
                settle(best)
                guard steps.count <= DeltaLimits.stepCountMax else { throw Self.tooMany }
            }
            if matching < 24 || best.since < 24 { offerAlignments(best) }
            offerLiterals()
            advance()
        }
        settle(best)
        steps.end(at: newCount)
        guard steps.count <= DeltaLimits.stepCountMax else { throw Self.tooMany }
        return steps.steps
    }

    private static var tooMany: StoreError {
        StoreError(.tooLarge, "unable to make a delta: it would have too many steps")
    }

    private var best: Hypothesis {
        var best = 0
        for index in hypotheses.indices where hypotheses[index].cost < hypotheses[best].cost {
            best = index
        }
        return hypotheses[best]
    }

    @inline(__always)
    private func equalCount(at place: Int) -> Int {
        DeltaSearch.equalCount(
            old + place, oldCount &- place, new + position, newCount &- position)
    }

    /// Decides for a hypothesis and all that led to it.
    private mutating func settle(_ hypothesis: Hypothesis) {
        var chain: [Node] = []
        var index = hypothesis.node
        while index >= 0 {
            chain.append(nodes[Int(index)])
            index = nodes[Int(index)].previous
        }
        // The last is the node that was settled before.
        for node in chain.reversed() {
            steps.begin(isLiteral: node.isLiteral, at: node.position, node.place)
        }
        nodes.removeAll(keepingCapacity: true)
        nodes.append(
            Node(
                previous: -1, isLiteral: hypothesis.isLiteral, position: position,
                place: hypothesis.place))
        hypotheses.removeAll(keepingCapacity: true)
        var settled = hypothesis
        settled.cost = 0
        settled.node = 0
        if !settled.isLiteral { settled.since = Self.sinceMax }
        hypotheses.append(settled)
    }

    // MARK: alignments

    private mutating func offerAlignments(_ best: Hypothesis) {
        let isWithin =
            offeredStart >= 0 && position - offeredStart < offeredCount - 8
            && offeredCount - (position - offeredStart) >= 16
        if !isWithin {
            let match = suffixes.longest(new + position, newCount - position, near: best.place)
            if match.count >= Self.matchMin {
                offeredStart = position
                offeredCount = match.count
                offer(match.place, match.count)
            }
        }
        if let near = nearest(best.place) { offer(near.place, near.count) }
    }

    /// The best match that is hardly shifted.
    private func nearest(_ place: Int) -> (place: Int, count: Int)? {
        var found: (place: Int, count: Int)?
        var worth = 0
        let byte = new[position]
        for distance in 1...Self.nearby {
            for candidate in [place - distance, place + distance] {
                guard candidate >= 0, candidate < oldCount, old[candidate] == byte else { continue }
                let count = DeltaSearch.equalCount(
                    old + candidate, min(oldCount - candidate, 64), new + position,
                    newCount - position)
                if count >= 5, 2 * count > worth + bitCount(distance) {
                    worth = 2 * count
                    found = (candidate, count)
                }
            }
        }
        return found
    }

    private mutating func offer(_ place: Int, _ count: Int) {
        var cost = Int.max
        var from: Int32 = 0
        var same: Int?
        for (index, hypothesis) in hypotheses.enumerated() {
            if !hypothesis.isLiteral, hypothesis.place == place { same = index }
            let jump = costs.jump + costs.jumpBit * bitCount(abs(place - hypothesis.place))
            if hypothesis.cost + jump < cost {
                cost = hypothesis.cost + jump
                from = hypothesis.node
            }
        }
        if let same, hypotheses[same].cost <= cost { return }
        nodes.append(Node(previous: from, isLiteral: false, position: position, place: place))
        let made = Hypothesis(
            place: place, cost: cost, node: Int32(nodes.count - 1), matchEnd: position + count,
            isLiteral: false, since: Self.sinceMax, key: 0)
        if let same { hypotheses[same] = made } else { hypotheses.append(made) }
    }

    private mutating func offerLiterals() {
        var cost = Int.max
        var from: Hypothesis?
        for hypothesis in hypotheses where !hypothesis.isLiteral && hypothesis.cost < cost {
            cost = hypothesis.cost
            from = hypothesis
        }
        guard let from else { return }
        cost += costs.literals
        for hypothesis in hypotheses
        where hypothesis.isLiteral && hypothesis.place == from.place && hypothesis.cost <= cost {
            return
        }
        nodes.append(
            Node(previous: from.node, isLiteral: true, position: position, place: from.place))
        hypotheses.append(
            Hypothesis(
                place: from.place, cost: cost, node: Int32(nodes.count - 1), matchEnd: 0,
                isLiteral: true, since: 0, key: 0))
    }

    // MARK: advancing

    /// Takes the next byte into all hypotheses, and keeps the best.
    private mutating func advance() {
        next.removeAll(keepingCapacity: true)
        let byte = new[position]
        for var hypothesis in hypotheses {
            if hypothesis.isLiteral {
                hypothesis.cost &+= costs.literal
            } else {
                // Nothing to copy.
                if hypothesis.place >= oldCount { continue }
                let isNear = hypothesis.since < 24
                if old[hypothesis.place] == byte {
                    hypothesis.cost &+= isNear ? costs.equalNearby : costs.equal
                    hypothesis.since = min(hypothesis.since &+ 1, Self.sinceMax)
                } else {
                    hypothesis.cost &+= isNear ? costs.differentNearby : costs.different
                    hypothesis.since = 0
                }
                hypothesis.place &+= 1
            }
            hypothesis.key = hypothesis.cost
            if !hypothesis.isLiteral, hypothesis.matchEnd > position {
                hypothesis.key &-= 3 * 256 * min(hypothesis.matchEnd &- position, 40)
            }
            insert(hypothesis)
        }
        position += 1
        keepBest()
    }

    /// Keeps `next` sorted by key; equal keys in the order in which they came.
    private mutating func insert(_ hypothesis: Hypothesis) {
        var index = next.count
        while index > 0, next[index - 1].key > hypothesis.key { index -= 1 }
        next.insert(hypothesis, at: index)
    }

    private mutating func keepBest() {
        hypotheses.removeAll(keepingCapacity: true)
        var literalCount = 0
        for hypothesis in next {
            if hypotheses.count >= Self.width || hypothesis.key > next[0].key + Self.keyRange {
                break
            }
            if hypothesis.isLiteral, literalCount >= Self.literalWidth { continue }
            let isKnown = hypotheses.contains {
                $0.place == hypothesis.place && $0.isLiteral == hypothesis.isLiteral
            }
            if isKnown { continue }
            hypotheses.append(hypothesis)
            if hypothesis.isLiteral { literalCount += 1 }
        }
    }
}

/// How many bits a number has.
@inline(__always)
private func bitCount(_ number: Int) -> Int { Int.bitWidth - number.leadingZeroBitCount }

/// Steps made from alignments that follow each other.
private struct StepList {
    private(set) var steps: [DeltaStep] = []
    var count: Int { steps.count }
    private var isLiteral = false
    private var position = 0
    private var place = 0
    /// Where the base was left by the last copy.
    private var left = 0

    /// Ends what is being done, and begins something else at a place in the base.
    mutating func begin(isLiteral: Bool, at position: Int, _ place: Int) {
        end(at: position)
        self.isLiteral = isLiteral
        self.place = place
    }

    mutating func end(at position: Int) {
        let count = position - self.position
        self.position = position
        if count == 0 { return }
        if isLiteral {
            if steps.isEmpty { steps.append(.nothing) }
            steps[steps.count - 1].literalByteCount += count
        } else {
            copy(count)
        }
        place += isLiteral ? 0 : count
    }

    private mutating func copy(_ count: Int) {
        if steps.isEmpty {
            if place != 0 {
                steps.append(.nothing)
            }
        }
        if var last = steps.last, last.literalByteCount == 0, place == left, last.copyByteCount > 0
        {
            // The same alignment goes on.
            last.copyByteCount += count
            steps[steps.count - 1] = last
        } else {
            if !steps.isEmpty { steps[steps.count - 1].seek = place - left }
            steps.append(DeltaStep(copyByteCount: count, literalByteCount: 0, seek: 0))
        }
        left = place + count
    }
}

extension DeltaStep {
    fileprivate static let nothing = DeltaStep(copyByteCount: 0, literalByteCount: 0, seek: 0)
}
