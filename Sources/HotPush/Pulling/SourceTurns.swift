import CASStore

/// Which source of a content to ask next, and when.
///
/// While one is in trouble, the others are asked, unless that would lose what it has begun. A
/// value, decided without a network or a clock.
struct SourceTurns {
    /// The sources of the content, in order of preference; none if castree cannot read any.
    private let sources: [ContentSource]
    private(set) var place = 0
    /// The position of the source whose response began the staged bytes; the first one, if an earlier
    /// pull began them.
    private(set) var partPlace = 0
    /// When failed sources may be asked again.
    private var dues: [Int: ContinuousClock.Instant] = [:]
    /// Sources that are not asked again.
    private var failed: Set<Int> = []

    init(_ sources: [ContentSource]) { self.sources = sources }

    var source: ContentSource? { sources.isEmpty ? nil : sources[place] }

    var areMany: Bool { sources.count > 1 }

    /// Whether the staged bytes, and their validator, are from the current source.
    var isOwnPart: Bool { partPlace == place }

    var due: ContinuousClock.Instant? { dues[place] }

    /// Notes that the staged bytes begin with this source's response.
    mutating func begunPart() { partPlace = place }

    /// Continues after a temporary failure.
    ///
    /// - Parameters:
    ///   - due: when this source may be asked again.
    ///   - stays: whether to stay with it: it makes progress, or what it has begun is of no use
    ///     with another.
    mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
        dues[place] = due
        if !stays { _ = move() }
    }

    /// Continues after a permanent failure.
    ///
    /// - Returns: whether there is another source.
    mutating func leave() -> Bool {
        failed.insert(place)
        return move()
    }

    /// Moves to the source that may be asked first; of several, to the next one.
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

/// The time in which an origin cannot be reached: all files wait for it together, and one request finds out.
///
/// A hundred files that are asked for at once would otherwise use up a hundred attempts of the pull in the moment in which
/// a server begins anew.
struct Outage {
    /// When to find out.
    let until: ContinuousClock.Instant
    /// The last request that was begun before: if it fails as well, that is the same trouble.
    let lastID: Int

    /// The number under which a budget counts the requests that found out.
    static let budgetID = -1
}
