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
    var number: Int64 { chain.number }
    /// Which entries count.
    private var chain: EntryChain
    /// The prunes among them, the oldest first.
    private(set) var prunes: [Prune]
    /// What each channel offers after the last entry.
    private var offered: [ChannelName: [LiveRelease]]
    /// The last entry after which a release was offered by a pointer that is replaced by now, and that pointer's channel.
    private var ended: [LiveRelease: End] = [:]

    private struct End: Comparable {
        let channel: ChannelName
        let number: Int64

        static func < (left: End, right: End) -> Bool {
            (left.channel, left.number) < (right.channel, right.number)
        }
    }

    /// Begins with what an origin is after an entry.
    init(_ state: OriginState) {
        first = state.number
        chain = EntryChain(
            EntryOutline(state.entry, state.number), state.number, signed: state.signed)
        offered = state.pointers.mapValues(\.liveReleases)
        prunes = Prune.of(state.entry, state.number)
    }

    /// How many releases are held, those of present pointers not counted.
    var endedCount: Int { ended.count }
    var isWithinLimits: Bool {
        number - first <= Self.entryCountMax && ended.count <= Self.countMax
    }

    /// Whether an entry that cannot be read is passed over.
    var passesOver: Bool { !chain.signed.isEmpty }

    /// Passes over an entry that cannot be read.
    mutating func pass() { _ = chain.add(nil) }

    /// Takes in the entry that follows.
    /// - Parameter isVouched: whether its pointers prove that who may publish has written it.
    mutating func add(_ entry: LogEntry, isVouched: Bool = false) {
        let last = number
        guard chain.add(EntryOutline(entry, last + 1), isVouched: isVouched).counts else { return }
        for (channel, pointer) in entry.pointers {
            end(channel, last)
            offered[channel] = pointer.liveReleases
        }
        if offered.count > entry.channels.count {
            for channel in Array(offered.keys) where entry.channels[channel] == nil {
                end(channel, last)
                offered[channel] = nil
            }
        }
        prunes += Prune.of(entry, number)
    }

    /// What a channel offers was so up to the last entry.
    private mutating func end(_ channel: ChannelName, _ number: Int64) {
        let end = End(channel: channel, number: number)
        for release in offered[channel] ?? [] { ended[release] = end }
    }

    /// What was offered after an entry, or after any that followed, each once: channel after channel what is offered no
    /// more, as it ended, so that what was published together stands together; then what is.
    func releases(since number: Int64) -> [LiveRelease] {
        let present = offered.values.reduce(into: Set<LiveRelease>()) { $0.formUnion($1) }
        let past = ended.filter { $0.value.number >= number && !present.contains($0.key) }
        return past.sorted { ($0.value, $0.key.version.name) < ($1.value, $1.key.version.name) }
            .map(\.key) + Self.distinct(offered)
    }

    /// What channels offer, each once: channel after channel, the oldest first.
    static func distinct(_ offered: [ChannelName: [LiveRelease]]) -> [LiveRelease] {
        var seen: Set<LiveRelease> = []
        return offered.sorted { $0.key < $1.key }.flatMap { $0.value.reversed() }
            .filter { seen.insert($0).inserted }
    }
}
