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
