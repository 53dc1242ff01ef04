import CASStore

/// The releases that the entries of a log offer from one of them on, and up to which entry each.
///
/// Takes in entry after entry, and holds none: a log may have a million. Each release is held once, however many
/// entries offer it.
struct LiveReleases {
    /// An entry that pruned.
    struct Prune: Sendable, Hashable {
        let number: Int64
        /// Whether it trimmed pointers, so that their copies may have been older for some time after it.
        let hasTrimmed: Bool

        /// The entry itself, if it is one.
        static func of(_ entry: LogEntry, _ number: Int64) -> [Prune] {
            guard entry.prunedAt == number else { return [] }
            return [Prune(number: number, hasTrimmed: !entry.pointers.isEmpty)]
        }
    }

    /// More entries than these are not read for what they keep: a store that shows ever more has no end.
    static let entryCountMax: Int64 = 1_000_000
    /// More releases than these are not held, for the same reason.
    static let countMax = 100_000

    /// The first entry whose releases are held.
    let first: Int64
    /// The entry that was taken in last.
    private(set) var number: Int64
    /// The prunes among them, the oldest first.
    private(set) var prunes: [Prune]
    /// What each channel offers after the last entry.
    private var offered: [ChannelName: [LiveRelease]]
    /// The last entry after which a release was offered by a pointer that is replaced by now.
    private var ended: [LiveRelease: Int64] = [:]

    /// Begins with what an origin is after an entry.
    init(_ state: OriginState) {
        first = state.number
        number = state.number
        offered = state.pointers.mapValues(\.liveReleases)
        prunes = Prune.of(state.entry, state.number)
    }

    /// How many releases are held, those of present pointers not counted.
    var endedCount: Int { ended.count }
    var isWithinLimits: Bool {
        number - first <= Self.entryCountMax && ended.count <= Self.countMax
    }

    /// Takes in the entry that follows.
    mutating func add(_ entry: LogEntry) {
        for (channel, pointer) in entry.pointers {
            end(channel)
            offered[channel] = pointer.liveReleases
        }
        if offered.count > entry.channels.count {
            for channel in Array(offered.keys) where entry.channels[channel] == nil {
                end(channel)
                offered[channel] = nil
            }
        }
        number += 1
        prunes += Prune.of(entry, number)
    }

    /// What a channel offers was so up to the last entry.
    private mutating func end(_ channel: ChannelName) {
        for release in offered[channel] ?? [] { ended[release] = number }
    }

    /// What was offered after an entry, or after any that followed.
    func releases(since number: Int64) -> Set<LiveRelease> {
        var live = Set(offered.values.joined())
        for (release, last) in ended where last >= number { live.insert(release) }
        return live
    }
}
