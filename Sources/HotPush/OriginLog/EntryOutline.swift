import CASStore

/// What an entry of the log says without its pointers, and whether it follows from the one before.
struct EntryOutline: Sendable {
    let author: String
    private let epoch: Int64
    private let keptFrom: Int64
    private let prunedAt: Int64
    private let channels: [ChannelName: Int64]
    /// Channels whose pointer says that it stands in another entry.
    private let misplaced: [ChannelName]
    /// The newest epoch of what its pointers offer.
    private let epochMax: Int64
    /// Where it stands what the clients of other systems are told.
    private let clients: [ToldSystem: ClientPlaces]
    /// The entry that each of its rows name as the one before.
    private let rowsBefore: [HistoryName: Int64]
    /// Whether its pointers are signed.
    let signing: [ChannelName: Bool]
    /// Whether a signed pointer says that it stands here.
    let isSigned: Bool

    init(_ entry: LogEntry, _ number: Int64) {
        author = entry.author
        (epoch, keptFrom, prunedAt) = (entry.epoch, entry.keptFrom, entry.prunedAt)
        channels = entry.channels
        (clients, rowsBefore) = (entry.clients, entry.rows.mapValues(\.before))
        epochMax = entry.pointers.values.flatMap(\.liveReleases).map(\.version.epoch).max() ?? 0
        signing = entry.pointers.mapValues(\.isSigned)
        isSigned = entry.pointers.values.contains { $0.isSigned && $0.log == number }
        misplaced = entry.pointers.filter { ($0.value.log ?? 1) != number }.map(\.key).sorted()
    }

    /// Which rules of the log it breaks; nothing for an entry as castree writes it.
    ///
    /// - Parameter before: the entry that it follows; `nil` for the first, and where the one before is not known.
    func breaches(_ number: Int64, after before: EntryOutline?) -> [String] {
        var problems: [String] = []
        for channel in misplaced {
            problems.append("its pointer of channel \(channel) names another entry")
        }
        if epochMax > epoch { problems.append("it offers what stands in epoch \(epochMax)") }
        if number == 1 {
            if keptFrom != 1 || prunedAt != 0 {
                problems.append("it is the first, and speaks of earlier ones")
            }
        } else if let before {
            problems += self.problems(number, after: before)
            problems += clientProblems(number, after: before)
        }
        return problems
    }

    private func problems(_ number: Int64, after before: EntryOutline) -> [String] {
        var problems: [String] = []
        if epoch != before.epoch, epoch != before.epoch + 1 {
            problems.append("its epoch is \(epoch) after \(before.epoch)")
        }
        if keptFrom < before.keptFrom {
            problems.append("it keeps what the entry before it gave up")
        }
        if keptFrom > max(before.keptFrom, before.prunedAt) {
            problems.append("it gives up what no prune before it has seen")
        }
        if prunedAt != before.prunedAt, prunedAt != number {
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
    private func clientProblems(_ number: Int64, after before: EntryOutline) -> [String] {
        var problems: [String] = []
        func check(_ what: String, _ now: Int64?, _ then: Int64?) {
            guard now != then, now != number else { return }
            problems.append("it does not place \(what) where the entry before does")
        }
        for system in Set(clients.keys).union(before.clients.keys).sorted() {
            let (now, then) = (clients[system], before.clients[system])
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
