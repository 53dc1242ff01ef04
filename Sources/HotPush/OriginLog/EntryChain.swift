import CASStore

/// Decides, entry by entry, which entries of a log count and which a stranger has written.
///
/// If something is signed, an unreadable or invalid entry is passed over: its number is used up, and the next follows
/// the last that counts. Otherwise anybody who may write may publish, and every readable entry counts that another
/// can follow.
struct EntryChain {
    private(set) var number: Int64
    private var last: EntryOutline
    /// The entry at ``number``, whether or not it counts; `nil` if it cannot be read.
    private var newest: EntryOutline?
    private(set) var signed: Set<ChannelName>

    init(_ entry: EntryOutline, _ number: Int64, signed: Set<ChannelName> = []) {
        (self.number, last, newest) = (number, entry, entry)
        self.signed = signed
        note(entry)
    }

    /// - Parameters:
    ///   - entry: `nil` if it cannot be read.
    ///   - isVouched: whether its pointers prove that an authorized publisher wrote it.
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
        // The signer has seen what this entry follows: perhaps one valid for an older castree, or unreadable by now.
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

/// An entry of the log without its pointers, for checking that it follows from the one before.
struct EntryOutline: Sendable {
    private let entry: LogEntry
    var author: String { entry.author }
    /// Channels whose pointer names another entry as its own.
    private let misplaced: [ChannelName]
    private let epochMax: Int64
    /// The previous entry that each of its rows names.
    private let rowsBefore: [HistoryName: Int64]
    /// Whether it offers files in an epoch that the log has not reached; no publisher builds upon such an entry.
    var isAhead: Bool { epochMax > entry.epoch }
    let signing: [ChannelName: Bool]
    /// Whether a signed pointer names this entry as its own.
    let isSigned: Bool
    /// The origins that its signed pointers name.
    let origins: Set<String>

    init(_ entry: LogEntry, _ number: Int64) {
        rowsBefore = entry.rows.mapValues(\.before)
        epochMax = entry.pointers.values.flatMap(\.liveReleases).map(\.version.epoch).max() ?? 0
        signing = entry.pointers.mapValues(\.isSigned)
        isSigned = entry.pointers.values.contains { $0.isSigned && $0.log == number }
        origins = Set(entry.pointers.values.filter(\.isSigned).compactMap(\.origin))
        misplaced = entry.pointers.filter { ($0.value.log ?? 1) != number }.map(\.key).sorted()
        var bare = entry
        (bare.pointers, bare.configurations, bare.rows, bare.foreign) = ([:], [:], [:], [])
        self.entry = bare
    }

    /// The rules of the log that it breaks; none for castree's own entries.
    /// - Parameter before: the entry that it follows; `nil` for the first, or if the previous one is unknown.
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
    func isAhead(_ number: Int64) -> Bool { EntryOutline(self, number).isAhead }
}
