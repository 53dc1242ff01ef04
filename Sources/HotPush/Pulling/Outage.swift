/// A period in which an origin cannot be reached or refuses whatever is asked: all files wait, and one request probes it.
///
/// Otherwise a hundred concurrent files would use up a hundred attempts while a server restarts.
struct Outage {
    let until: ContinuousClock.Instant
    /// The last request begun before the outage: its failure is part of it.
    let lastID: Int

    static let budgetID = -1

    /// Whether content not yet asked for is the next probe.
    ///
    /// They alternate: what failed may be content that the origin never sends, or only the first request for it.
    var probesFresh: Bool { lastID % 2 == 0 }
}

/// Tells an origin in trouble from a file that it cannot send: of the latest answers, a fifth refused different files.
struct Refusals {
    private var weight = 0
    private var lastFile: Int?

    mutating func answered() { weight = max(0, weight - 1) }

    /// Whether this is the origin's trouble and not the file's.
    mutating func refused(_ file: Int) -> Bool {
        if file != lastFile { weight += 4 }
        lastFile = file
        return weight >= 8
    }
}
