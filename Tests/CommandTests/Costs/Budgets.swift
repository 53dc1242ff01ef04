import Testing

/// What each kind of work may ask of the kernel, at most.
///
/// Measured, and lowered whenever the programs need less. A change that needs more says in its message why it is
/// worth that, and raises the number here. Calls that are not named are not made at all.
///
/// The numbers are the same on every machine but for what the libraries add: SQLite looks at every directory above the
/// store, and its versions differ by a call or two. `tolerance` is for that, and far below one call a file.
enum Budget {
    /// Files of the fixed content; see `CostTests`.
    static let files = 100

    /// `add` of 100 files into a store without versions.
    static let firstAdd: Counts = [
        .opens: 301, .stats: 504, .reads: 131, .writes: 115, .links: 200, .renames: 3,
        .removals: 103, .directories: 88, .lists: 16, .syncs: 3,
    ]
    /// `add` of the same directory with one file changed.
    ///
    /// A look at each object that the stat cache names: whether it still has its seal.
    static let secondAdd: Counts = [
        .opens: 77, .stats: 305, .reads: 31, .writes: 16, .links: 101, .renames: 3, .removals: 4,
        .directories: 12, .lists: 16, .syncs: 3,
    ]
    /// `checkout` of a version of 100 files, by hard links; a look at each object before it is linked.
    static let checkout: Counts = [
        .opens: 36, .stats: 161, .reads: 20, .writes: 1, .links: 100, .renames: 1, .directories: 11,
        .lists: 1, .syncs: 1,
    ]
    /// `retire` of one of two versions that differ in one file, and `gc`.
    ///
    /// What the next collection frees takes one more reading of the index.
    static let collection: Counts = [
        .opens: 96, .stats: 286, .reads: 56, .writes: 27, .renames: 2, .removals: 126, .lists: 29,
        .syncs: 8,
    ]
    /// `fsck` of these two versions; whose each directory of objects is takes one look.
    static let check: Counts = [
        .opens: 276, .stats: 387, .reads: 155, .writes: 1, .renames: 2, .removals: 2, .lists: 113,
    ]
    /// `publish` of 100 files to a new directory: 79 shards are made, and each file is written, and gets its name.
    ///
    /// The marker, the bytes of all objects and all names take one syncfs(2) each; documents are synced one by one. Each
    /// command lists the directory itself once: no link may stand in place of one of those in it.
    static let firstPublish: Counts = [
        .opens: 507, .stats: 391, .reads: 134, .writes: 109, .links: 5, .renames: 103, .removals: 7,
        .directories: 166, .lists: 5, .syncs: 13,
    ]
    /// `publish` of 100 files, one of which the origin is missing: one look at each file that it has.
    ///
    /// The pointers are listed once: one that names an entry which is not there shows that the log has lost it. So is the
    /// log, as an entry may stand behind one that is lost.
    static let secondPublish: Counts = [
        .opens: 162, .stats: 240, .reads: 37, .writes: 5, .links: 2, .renames: 3, .removals: 4,
        .directories: 6, .lists: 10, .syncs: 7,
    ]
    /// `pull` when the channel has nothing new.
    static let pullOfNothing: Counts = [
        .opens: 30, .stats: 82, .reads: 24, .writes: 2, .connections: 1, .sends: 1,
    ]
    /// One answer of a server that has given it before: everything is in memory, one call sends it.
    ///
    /// It has a connection of its own. The second receipt, which may come later, is that connection's end.
    static let smallAnswer: Counts = [.receipts: 2, .sends: 1]

    /// One answer of `origin serve` to a client of CodePush, where two systems are enabled.
    ///
    /// It looks whether the directory, the configuration, the pointer and the history are those that it knows: a call each.
    static let clientAnswer: Counts = [.stats: 4, .receipts: 2, .sends: 1]

    /// Says which kinds are beyond the budget, and where the budget has become too large to guard anything.
    ///
    /// `depth` is the number of directories above the store.
    static func hold(
        _ work: String, _ counts: Counts, to budget: Counts, depth: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        for call in SystemCall.allCases {
            // How many pieces an answer comes in is up to the network.
            if call == .receipts && budget[call] == nil { continue }
            let allowed = budget[call, default: 0]
            let spent = counts[call, default: 0]
            if spent > allowed + tolerance(call, of: allowed, depth) {
                Issue.record(
                    "\(work): \(call) grew from \(allowed) to \(spent)",
                    sourceLocation: sourceLocation)
            } else if allowed - spent > max(5, allowed / 10) {
                Issue.record(
                    "\(work): only \(spent) of \(allowed) \(call): lower the budget in Budgets.swift",
                    sourceLocation: sourceLocation)
            }
        }
    }

    private static func tolerance(_ call: SystemCall, of allowed: Int, _ depth: Int) -> Int {
        guard allowed > 0 else { return 0 }
        switch call {
        case .opens, .stats: return 4 + 4 * max(0, depth - measuredDepth)
        case .reads, .writes: return 4
        default: return 0
        }
    }

    /// The depth of the store while the numbers were measured.
    private static let measuredDepth = 2
}
