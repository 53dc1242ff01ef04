import CASStore

/// The entries of a log one after the other: which of them count, and which a stranger has written.
///
/// Where something is signed, an entry that cannot be read, or breaks the rules, is passed over: its number is used up,
/// and the next one follows the last that counts. Elsewhere whoever may write may publish, and all count that can be
/// read, but for those that no entry can follow.
struct EntryChain {
    /// The number that was taken in last.
    private(set) var number: Int64
    /// The last that counts.
    private var last: EntryOutline
    /// The one under ``number``, whether or not it counts; `nil` if it cannot be read.
    private var newest: EntryOutline?
    /// The channels whose pointer is signed.
    private(set) var signed: Set<ChannelName>

    init(_ entry: EntryOutline, _ number: Int64, signed: Set<ChannelName> = []) {
        (self.number, last, newest) = (number, entry, entry)
        self.signed = signed
        note(entry)
    }

    /// Takes in the entry that follows.
    ///
    /// - Parameters:
    ///   - entry: `nil` for one that cannot be read.
    ///   - isVouched: whether its pointers prove that who may publish has written it.
    /// - Returns: whether it counts, and which rules it breaks.
    mutating func add(
        _ entry: EntryOutline?, isVouched: Bool = false
    ) -> (counts: Bool, breaches: [String]) {
        let before = newest
        number += 1
        newest = entry
        guard let entry else { return (false, []) }
        var breaches = entry.breaches(number, after: last)
        // Whoever has signed it.
        guard !entry.isAhead else { return (false, breaches) }
        // Who has signed it has seen what it follows: perhaps what an older castree took for an entry, or nobody reads now.
        if !breaches.isEmpty, isVouched || entry.isSigned,
            before.map({ entry.breaches(number, after: $0).isEmpty }) ?? true
        {
            breaches = entry.breaches(number, after: nil)
        }
        guard breaches.isEmpty || signed.isEmpty else { return (false, breaches) }
        last = entry
        note(entry)
        return (true, breaches)
    }

    private mutating func note(_ entry: EntryOutline) {
        for (channel, isSigned) in entry.signing {
            if isSigned { signed.insert(channel) } else { signed.remove(channel) }
        }
    }
}

/// What an entry of the log says without its pointers, and whether it follows from the one before.
struct EntryOutline: Sendable {
    /// The entry without what may be large.
    private let entry: LogEntry
    var author: String { entry.author }
    /// Channels whose pointer says that it stands in another entry.
    private let misplaced: [ChannelName]
    /// The newest epoch of what its pointers offer.
    private let epochMax: Int64
    /// The entry that each of its rows name as the one before.
    private let rowsBefore: [HistoryName: Int64]
    /// Whether it offers what stands in an epoch that the log has not reached: nobody writes what would follow it.
    var isAhead: Bool { epochMax > entry.epoch }
    /// Whether its pointers are signed.
    let signing: [ChannelName: Bool]
    /// Whether a signed pointer says that it stands here.
    let isSigned: Bool

    init(_ entry: LogEntry, _ number: Int64) {
        rowsBefore = entry.rows.mapValues(\.before)
        epochMax = entry.pointers.values.flatMap(\.liveReleases).map(\.version.epoch).max() ?? 0
        signing = entry.pointers.mapValues(\.isSigned)
        isSigned = entry.pointers.values.contains { $0.isSigned && $0.log == number }
        misplaced = entry.pointers.filter { ($0.value.log ?? 1) != number }.map(\.key).sorted()
        var bare = entry
        (bare.pointers, bare.configurations, bare.rows, bare.foreign) = ([:], [:], [:], [])
        self.entry = bare
    }

    /// Which rules of the log it breaks; nothing for an entry as castree writes it.
    ///
    /// - Parameter before: the entry that it follows; `nil` for the first, and where the one before is not known.
    func breaches(_ number: Int64, after before: EntryOutline?) -> [String] {
        var problems: [String] = []
        for channel in misplaced {
            problems.append("its pointer of channel \(channel) names another entry")
        }
        if isAhead { problems.append("it offers what stands in epoch \(epochMax)") }
        if number == 1 {
            if entry.keptFrom != 1 || entry.prunedAt != 0 {
                problems.append("it is the first, and speaks of earlier ones")
            }
        } else if let before {
            problems += self.problems(number, after: before.entry)
            problems += clientProblems(number, after: before.entry.clients)
        }
        return problems
    }

    private func problems(_ number: Int64, after before: LogEntry) -> [String] {
        var problems: [String] = []
        let (epoch, keptFrom, channels) = (entry.epoch, entry.keptFrom, entry.channels)
        if epoch != before.epoch, epoch != before.epoch + 1 {
            problems.append("its epoch is \(epoch) after \(before.epoch)")
        }
        if keptFrom < before.keptFrom {
            problems.append("it keeps what the entry before it gave up")
        }
        if keptFrom > max(before.keptFrom, before.prunedAt) {
            problems.append("it gives up what no prune before it has seen")
        }
        if entry.prunedAt != before.prunedAt, entry.prunedAt != number {
            problems.append("its newest prune is neither itself nor that of the entry before")
        }
        for (channel, place) in before.channels.sorted(by: { $0.key < $1.key })
        where channels[channel] != place && channels[channel] != number {
            problems.append("it does not place channel \(channel) where the entry before does")
        }
        for (channel, place) in channels.sorted(by: { $0.key < $1.key })
        where before.channels[channel] == nil && place != number {
            problems.append("it places channel \(channel), which is new, in entry \(place)")
        }
        return problems
    }

    /// What it says of the clients of other systems.
    private func clientProblems(
        _ number: Int64, after before: [ToldSystem: ClientPlaces]
    ) -> [String] {
        let clients = entry.clients
        var problems: [String] = []
        func check(_ what: String, _ now: Int64?, _ then: Int64?) {
            guard now != then, now != number else { return }
            problems.append("it does not place \(what) where the entry before does")
        }
        for system in Set(clients.keys).union(before.keys).sorted() {
            let (now, then) = (clients[system], before[system])
            check("what is set for \(system)", now?.configuration, then?.configuration)
            let channels = Set((now?.histories ?? [:]).keys).union((then?.histories ?? [:]).keys)
            for channel in channels.sorted() {
                let earlier = then?.histories[channel]
                check(
                    "the history of channel \(channel) for \(system)", now?.histories[channel],
                    earlier)
                let name = HistoryName(system: system, channel: channel)
                if let named = rowsBefore[name], named != earlier ?? 0 {
                    problems.append(
                        "its rows of channel \(channel) for \(system) follow those of entry \(named)"
                    )
                }
            }
        }
        return problems
    }
}

extension LogEntry {
    /// Whether it offers what stands in an epoch that the log has not reached.
    func isAhead(_ number: Int64) -> Bool { EntryOutline(self, number).isAhead }
}
