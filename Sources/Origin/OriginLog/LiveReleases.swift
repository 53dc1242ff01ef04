import CASStore
import HotPush

/// The releases that a range of log entries offers, each with the last entry that offered it.
///
/// It accepts entries one by one and keeps none, as there may be a million, and holds each release once.
struct LiveReleases {
    struct Prune: Sendable, Hashable {
        let number: Int64
        /// Whether it trimmed pointers, whose copies may then have been older for a while.
        let hasTrimmed: Bool

        static func of(_ entry: LogEntry, _ number: Int64) -> [Prune] {
            guard entry.prunedAt == number else { return [] }
            return [Prune(number: number, hasTrimmed: !entry.pointers.isEmpty)]
        }
    }

    /// Limits how many entries are read: a store that shows ever more would have no end.
    static let entryCountMax: Int64 = 1_000_000
    /// Limits how many releases are held, for the same reason.
    static let countMax = 100_000

    let first: Int64
    var number: Int64 { chain.number }
    private var chain: EntryChain
    /// Oldest first.
    private(set) var prunes: [Prune]
    private var offered: [ChannelName: [LiveRelease]]
    /// For each release of a replaced pointer, the last entry that offered it, and the pointer's channel.
    private var ended: [LiveRelease: End] = [:]

    private struct End: Comparable {
        let channel: ChannelName
        let number: Int64

        static func < (left: End, right: End) -> Bool {
            (left.channel, left.number) < (right.channel, right.number)
        }
    }

    init(_ state: OriginState, pointerByteCountMax: Int = PointerCapacity.byteCountMax) {
        first = state.number
        chain = EntryChain(state, pointerByteCountMax: pointerByteCountMax)
        offered = state.pointers.mapValues(\.liveReleases)
        prunes = Prune.of(state.entry, state.number)
    }

    /// How many releases are held besides those of current pointers.
    var endedCount: Int { ended.count }
    var isWithinLimits: Bool {
        number - first <= Self.entryCountMax && ended.count <= Self.countMax
    }

    /// Whether unreadable entries are passed over.
    var passesOver: Bool { !chain.signed.isEmpty }
    /// A number without an entry, after which no trusted one has followed from what was before.
    private(set) var gap: Int64?

    func place(of channel: ChannelName) -> Int64? { chain.place(of: channel) }

    mutating func pass() { _ = chain.add(nil) }

    mutating func skip() {
        chain.skip()
        gap = gap ?? number
    }

    /// - Parameter authorship: as for ``EntryChain/add(_:by:)``.
    /// - Returns: whether it counts.
    @discardableResult
    mutating func add(_ entry: LogEntry, by authorship: EntryAuthorship? = nil) -> Bool {
        let last = number
        let outline = EntryOutline(entry, last + 1)
        guard chain.add(outline, by: authorship).counts else { return false }
        if authorship?.isTrusted ?? outline.isSigned { gap = nil }
        for (channel, pointer) in entry.pointers where chain.overruled[channel] == nil {
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
        return true
    }

    private mutating func end(_ channel: ChannelName, _ number: Int64) {
        let end = End(channel: channel, number: number)
        for release in offered[channel] ?? [] { ended[release] = end }
    }

    /// The distinct releases offered after an entry or any later one: first the ended ones by channel and end, so
    /// that releases published together are adjacent, then those still offered.
    func releases(since number: Int64) -> [LiveRelease] {
        let present = offered.values.reduce(into: Set<LiveRelease>()) { $0.formUnion($1) }
        let past = ended.filter { $0.value.number >= number && !present.contains($0.key) }
        return past.sorted { ($0.value, $0.key.version.name) < ($1.value, $1.key.version.name) }
            .map(\.key) + Self.distinct(offered)
    }

    /// The distinct offers, channel by channel, the oldest first.
    static func distinct(_ offered: [ChannelName: [LiveRelease]]) -> [LiveRelease] {
        var seen: Set<LiveRelease> = []
        return offered.sorted { $0.key < $1.key }.flatMap { $0.value.reversed() }
            .filter { seen.insert($0).inserted }
    }
}
