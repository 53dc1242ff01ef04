import CASStore

/// Which source of a content to ask next, and when: another one after a failure, unless that would lose what the source
/// has begun.
///
/// A value, without a network or a clock.
struct SourceTurns {
    /// In order of preference; none if castree cannot read any.
    private let sources: [ContentSource]
    private(set) var place = 0
    /// The index of the source whose response began the staged bytes; 0 if an earlier pull began them.
    private(set) var partPlace = 0
    private var dues: [Int: ContinuousClock.Instant] = [:]
    private var failed: Set<Int> = []

    init(_ sources: [ContentSource]) { self.sources = sources }

    var source: ContentSource? { sources.isEmpty ? nil : sources[place] }

    var areMany: Bool { sources.count > 1 }

    /// Whether the staged bytes, and their validator, are from the current source.
    var isOwnPart: Bool { partPlace == place }

    var due: ContinuousClock.Instant? { dues[place] }

    mutating func begunPart() { partPlace = place }

    /// - Parameter stays: whether to stay with the source, because it makes progress, or no other can continue its
    ///   part.
    mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
        dues[place] = due
        if !stays { _ = move() }
    }

    mutating func leave() -> Bool {
        failed.insert(place)
        return move()
    }

    private mutating func move() -> Bool {
        var best: Int?
        for step in 1...max(1, sources.count) {
            let other = (place + step) % max(1, sources.count)
            if failed.contains(other) { continue }
            guard let chosen = best else {
                best = other
                continue
            }
            if let due = dues[chosen], dues[other].map({ $0 < due }) ?? true { best = other }
        }
        guard let best else { return false }
        place = best
        return true
    }
}
