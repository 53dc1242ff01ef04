import CASStore
import HotPush

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
    /// The entries with the pointers of channels to which somebody else has given others since.
    private(set) var overruled: [ChannelName: Int64] = [:]
    /// The sizes of the pointers' files of all channels.
    private var byteCounts: [ChannelName: Int]
    private let byteCountMax: Int

    init(
        _ entry: EntryOutline, _ number: Int64, signed: Set<ChannelName> = [],
        pointerByteCountMax: Int = PointerCapacity.byteCountMax
    ) {
        (self.number, last, newest) = (number, entry, entry)
        self.signed = signed
        (byteCounts, byteCountMax) = (entry.byteCounts, pointerByteCountMax)
        note(entry)
    }

    init(_ state: OriginState, pointerByteCountMax: Int) {
        self.init(
            EntryOutline(state.entry, state.number), state.number, signed: state.signed,
            pointerByteCountMax: pointerByteCountMax)
        overruled = state.overruled
        byteCounts = state.pointers.mapValues { $0.serialized().count }
    }

    /// - Parameters:
    ///   - entry: `nil` if it cannot be read.
    ///   - authorship: what is known of its author; `nil` if nobody can tell, so that what it says counts.
    /// - Returns: whether it counts, and which rules it breaks.
    mutating func add(
        _ entry: EntryOutline?, by authorship: EntryAuthorship? = nil
    ) -> (counts: Bool, breaches: [String]) {
        let before = newest
        number += 1
        newest = entry
        guard let entry else { return (false, []) }
        var breaches = entry.breaches(number, after: last)
        // Whoever has signed it.
        guard !entry.isAhead else { return (false, breaches) }
        // The signer has seen what this entry follows: perhaps one valid for an older castree, or unreadable by now.
        if !breaches.isEmpty, authorship?.isTrusted ?? entry.isSigned,
            before.map({ entry.breaches(number, after: $0).isEmpty }) ?? true
        {
            breaches = entry.breaches(number, after: nil)
        }
        let later = byteCounts.merging(
            entry.byteCounts.filter { !(authorship?.taken.contains($0.key) ?? false) }
        ) { $1 }
        if authorship?.isTrusted != true, overfills(later, entry.isSigned) {
            breaches.append("the pointers after it would have too many bytes together")
        }
        guard breaches.isEmpty || signed.isEmpty else { return (false, breaches) }
        byteCounts = later
        for channel in entry.signing.keys {
            let isTaken = authorship?.taken.contains(channel) ?? false
            overruled[channel] = isTaken ? place(of: channel) : nil
        }
        last = entry
        note(entry, isBelieved: authorship?.isTrusted ?? true)
        return (true, breaches)
    }

    /// Whether the pointers grow to more than castree writes (``LogCommit/checkRoom(for:upon:_:)``).
    private func overfills(_ later: [ChannelName: Int], _ isSigned: Bool) -> Bool {
        let (now, then) = (byteCounts.values.reduce(0, +), later.values.reduce(0, +))
        return then > now && then > PointerCapacity.limit(byteCountMax, isSigned: isSigned)
    }

    /// The entry with a channel's pointer, after the last one that counts.
    func place(of channel: ChannelName) -> Int64? {
        overruled[channel] ?? last.places[channel]
    }

    /// Passes over a number that nothing has.
    mutating func skip() { number += 1 }

    /// - Parameter isBelieved: whether it may end that a channel is signed.
    private mutating func note(_ entry: EntryOutline, isBelieved: Bool = true) {
        for (channel, isSigned) in entry.signing {
            if isSigned { signed.insert(channel) } else if isBelieved { signed.remove(channel) }
        }
    }
}

/// What a publisher's keys tell of the author of an entry.
struct EntryAuthorship: Sendable, Hashable {
    /// Whether they have signed a pointer for this very entry.
    var isTrusted = false
    /// The channels to which somebody else gives another pointer than the keys have signed: theirs stands.
    var taken: Set<ChannelName> = []
}

/// An entry of the log without its pointers, for checking that it follows from the one before.
struct EntryOutline: Sendable {
    private let entry: LogEntry
    var author: String { entry.author }
    var places: [ChannelName: Int64] { entry.channels }
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
    /// The sizes of its pointers' files.
    let byteCounts: [ChannelName: Int]

    init(_ entry: LogEntry, _ number: Int64) {
        rowsBefore = entry.rows.mapValues(\.before)
        epochMax = entry.epochMax
        byteCounts = entry.pointers.mapValues { $0.serialized().count }
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
        _ number: Int64, after before: [AnnouncedSystem: ClientPlaces]
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
    fileprivate var epochMax: Int64 {
        pointers.values.flatMap(\.liveReleases).map(\.version.epoch).max() ?? 0
    }

    var isAhead: Bool { epochMax > epoch }
}

/// Bounds the size of all pointers' files, if there may be too many.
///
/// Somebody who signs has space for as much beside what others write. As anybody may say so, a publisher whose keys
/// tell who has signed continues beside any number of others' pointers with as much of its own, and readers have space
/// for all.
struct PointerCapacity {
    static let byteCountMax = 32 << 20

    static func limit(_ byteCountMax: Int, isSigned: Bool) -> Int {
        isSigned ? 2 * byteCountMax : byteCountMax
    }

    static func readable(_ byteCountMax: Int) -> Int { 3 * byteCountMax }

    private var left: Int
    private let counts: Bool

    init(_ byteCountMax: Int, channelCount: Int) {
        left = byteCountMax
        // A few channels always fit: nothing is counted.
        counts = channelCount * ChannelPointer.byteCountMax > byteCountMax
    }

    var isThere: Bool { left >= 0 }

    mutating func take(_ pointer: ChannelPointer) {
        if counts { left -= pointer.serialized().count }
    }
}
