import CASStore

/// Which source of a content is asked next, and when.
///
/// While one is in trouble the others are asked, unless what it has begun would be lost. A value,
/// decided without a network or a clock.
struct SourceTurns {
    /// Where the content can be had, in the order of preference; none for what castree cannot read.
    private let sources: [ContentSource]
    /// The place of the source that is asked now.
    private(set) var place = 0
    /// The place of the one whose response the staged bytes began with; an earlier pull began with the
    /// first, for all that is known.
    private(set) var partPlace = 0
    /// When those that failed may be asked again.
    private var dues: [Int: ContinuousClock.Instant] = [:]
    /// Those that are not asked again.
    private var failed: Set<Int> = []

    init(_ sources: [ContentSource]) { self.sources = sources }

    /// The source that is asked now; nil if there is none at all.
    var source: ContentSource? { sources.isEmpty ? nil : sources[place] }

    /// Whether there are several.
    var areMany: Bool { sources.count > 1 }

    /// Whether the staged bytes are of the source that is asked now, and so is their validator.
    var isOwnPart: Bool { partPlace == place }

    /// When the source that is asked now may be asked.
    var due: ContinuousClock.Instant? { dues[place] }

    /// Notes that what is staged begins with this source's response.
    mutating func begunPart() { partPlace = place }

    /// Goes on after a failure that may pass.
    ///
    /// - Parameters:
    ///   - due: when this source may be asked again.
    ///   - stays: whether to stay with it: it is getting on, or what it has begun is of no use with
    ///     another.
    mutating func wait(until due: ContinuousClock.Instant, stays: Bool) {
        dues[place] = due
        if !stays { _ = move() }
    }

    /// Goes on after a failure for good.
    ///
    /// - Returns: whether there is another source.
    mutating func leave() -> Bool {
        failed.insert(place)
        return move()
    }

    /// Goes to the source that may be asked first; of several, to the next one.
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
