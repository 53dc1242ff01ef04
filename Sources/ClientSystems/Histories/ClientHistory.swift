import CASStore
import HotPush
import Origin
import StrictJSON

/// What a channel has offered to the clients of a system: the file `for/<system>/<channel>.json`.
///
/// The publisher appends to it before it replaces the pointer, so readers ignore offers above the pointer's sequence.
struct ClientHistory: Sendable, Hashable {
    var system: ClientSystem
    var channel: ChannelName
    /// Oldest first.
    var offers: [ClientOffer]
    /// The largest label number so far; labels continue from it when old offers are dropped.
    var labelCount: Int64
    /// The entry of the origin's log that states its newest offers; `nil` where there is no log.
    var log: Int64?

    init(
        _ system: ClientSystem, _ channel: ChannelName, offers: [ClientOffer] = [],
        labelCount: Int64 = 0
    ) {
        self.system = system
        self.channel = channel
        self.offers = offers
        self.labelCount = labelCount
    }
}

/// A channel as a feed sees it: what the pointer offers now, and what clients may know from before.
struct ClientChannel: Sendable, Hashable {
    /// What the pointer offers, newest first, each with the ids that clients know it by.
    ///
    /// A release without an offer in the history is left out: it was published before the system was enabled.
    var live: [Live]
    /// All offers up to the pointer, oldest first, including those that are no longer offered.
    var past: [ClientOffer]

    struct Live: Sendable, Hashable {
        var release: ChannelRelease
        var offer: ClientOffer
    }

    /// Joins a pointer and a history by the sequence of each release; offers above the pointer are left out.
    ///
    /// Only the pointer may be signed, so an offer counts only if its target is what the pointer says. An attacker
    /// who can write histories but not pointers cannot make clients take anything else.
    init(_ pointer: ChannelPointer, _ history: ClientHistory) {
        past = history.offers.filter { $0.sequence <= pointer.sequence }
        let releases = Dictionary(pointer.releases.map { ($0.sequence, $0) }) { first, _ in first }
        var offers: [Int64: ClientOffer] = [:]
        // If a sequence stands twice, the later offer counts.
        for offer in past {
            if let release = releases[offer.sequence], offer.isOffer(of: release) {
                offers[offer.sequence] = offer
            }
        }
        live = pointer.releases.compactMap { release in
            offers[release.sequence].map { Live(release: release, offer: $0) }
        }
    }
}

// History ↔ bytes.

extension ClientHistory {
    static let byteCountMax = 32 << 20

    var file: HistoryFile {
        var file = HistoryFile(
            HistoryName(system: system.announced, channel: channel), labelCount: labelCount,
            offers: offers.map(\.document.withSortedKeys))
        file.log = log
        return file
    }

    func serialized() -> [UInt8] { file.serialized() }

    /// - Throws: `.badClients` with what is wrong; `.unsupportedFormat` if it is newer than this castree.
    init(
        parsing bytes: [UInt8], of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        self = try Self.explaining(channel, system) { () throws(PointerProblem) in
            var fields = try FieldReader(
                file: bytes, byteCountMax: Self.byteCountMax, depth: 8, format: "castreeHistory")
            guard try fields.text("system") == system.rawValue,
                try fields.text("channel") == channel.description
            else { throw .broken("it is that of another channel or system") }
            var history = ClientHistory(
                system, channel,
                labelCount: try fields.integer("labelCount", 0...ChannelPointer.sequenceMax))
            history.log = try fields.log()
            try history.read(fields.array("offers"))
            guard history.serialized() == bytes else { throw .notOwn }
            return history
        }
    }

    /// Reads the same as an entry of the log states it.
    init(
        _ file: HistoryFile, of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) {
        self = try Self.explaining(channel, system) { () throws(PointerProblem) in
            var history = ClientHistory(system, channel, labelCount: file.labelCount)
            guard 0...ChannelPointer.sequenceMax ~= file.labelCount else { throw .notOwn }
            try history.read(file.offers)
            guard history.file.offers == file.offers.map(\.withSortedKeys) else { throw .notOwn }
            return history
        }
    }

    private static func explaining(
        _ channel: ChannelName, _ system: ClientSystem,
        _ read: () throws(PointerProblem) -> ClientHistory
    ) throws(StoreError) -> ClientHistory {
        do throws(PointerProblem) {
            return try read()
        } catch {
            throw error.refusal(of: OriginLayout.clientHistory(of: channel, system.rawValue))
        }
    }

    private mutating func read(_ values: [JSONValue]) throws(PointerProblem) {
        var labels: [String: ObjectID?] = [:]
        for (position, value) in values.enumerated() {
            let offer = try ClientOffer(value, place: "offer \(position + 1)")
            if let last = offers.last, last.createdAt >= offer.createdAt {
                throw .broken("offer \(position + 1) is not later than the one before it")
            }
            if let label = offer.label {
                // The same content may be offered again under its label.
                let known = labels.updateValue(offer.content, forKey: label)
                guard offer.labelNumber <= labelCount, known == nil || known == offer.content
                else {
                    throw .broken(
                        "the label of offer \(position + 1) is another's, or not given yet")
                }
            }
            offers.append(offer)
        }
    }
}

extension PointerProblem {
    fileprivate static var notOwn: Self { .broken("it is not as castree writes it") }
}

// How a history follows its channel: values in, values out.

extension ClientHistory {
    /// The releases of a pointer without an offer here, oldest first; drops offers that clients were never told of.
    /// - Parameters:
    ///   - pointer: the pointer about to be published.
    ///   - before: the current pointer; `nil` for a new channel.
    ///   - ordersByTime: whether clients take only offers later than what they run; then what stood below a withdrawn
    ///     release is offered again.
    ///   - isRenewed: whether to make the offer of a release anew.
    mutating func lacking(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, ordersByTime: Bool,
        renewing isRenewed: (ClientOffer) -> Bool = { _ in false }
    ) -> [Lacking] {
        // A killed publisher may have left offers of a pointer that was never published. Sequences that were rolled
        // back are reused.
        let known = before?.releases.map(\.sequence) ?? []
        let again = pointer.releases.map(\.sequence).filter { !known.contains($0) }.min()
        let latest = pointer.latestOffer(among: offers.count)
        offers.removeAll { offer in
            max(offer.createdAt, offer.firstOfferedAt) > latest
                || offer.sequence > min(before?.sequence ?? pointer.sequence, pointer.sequence)
                || again.map { offer.sequence >= $0 } ?? false
        }
        // If a sequence stands twice, the later offer counts.
        let last = Dictionary(offers.map { ($0.sequence, $0) }) { $1 }
        let withdrawn = ordersByTime ? last.values.filter { !$0.isOffered(by: pointer) } : []
        return pointer.releases.reversed().compactMap { release in
            guard let offer = last[release.sequence], offer.isOffer(of: release) else {
                return Lacking(release: release, isAgain: false)
            }
            let isReturned = withdrawn.contains { other in
                other.sequence > release.sequence && other.createdAt > offer.createdAt
            }
            return isReturned || isRenewed(offer) ? Lacking(release: release, isAgain: true) : nil
        }
    }

    struct Lacking: Sendable, Hashable {
        var release: ChannelRelease
        var isAgain: Bool
    }

    /// When the next offer of a release is made, in milliseconds since 1970.
    ///
    /// It is the release's own time, so that a lost history is rebuilt with the same ids, but later than any offer
    /// here.
    /// - Parameter pointer: the pointer about to be published.
    func time(of lacking: Lacking, in pointer: ChannelPointer) -> Int64 {
        let seconds = lacking.isAgain ? pointer.createdAt : lacking.release.createdAt
        return max(min(seconds, SequenceBound.timeMax) * 1000, (offers.last?.createdAt ?? -1) + 1)
    }

    /// The number of the next label, above every label that clients may know.
    ///
    /// A number that leaves none above it was written by a stranger; then the next free one is taken.
    var nextLabelNumber: Int64 {
        let given = Set(offers.map(\.labelNumber) + [0, labelCount])
        let last = given.filter { $0 < ChannelPointer.sequenceMax && !given.contains($0 + 1) }
        return (last.max() ?? 0) + 1
    }

    /// Adds an offer, and drops the oldest beyond a number, except those that the pointer lists.
    /// - Throws: `.badClients` if it is not later than the last.
    mutating func append(
        _ offer: ClientOffer, keeping count: Int, of pointer: ChannelPointer
    ) throws(StoreError) {
        if let last = offers.last, last.createdAt >= offer.createdAt {
            throw StoreError(
                .badClients,
                "an offer to the clients of \(system) is not later than the one before it")
        }
        offers.append(offer)
        labelCount = max(labelCount, offer.labelNumber)
        drop(to: count, listedIn: pointer)
    }

    mutating func drop(to count: Int, listedIn pointer: ChannelPointer) {
        guard offers.count > count else { return }
        var needed: Set<Int64> = Set(pointer.releases.map(\.sequence))
        var kept: [ClientOffer] = []
        // From the newest on: only the last offer of a sequence counts.
        for (position, offer) in offers.enumerated().reversed() {
            let counts = needed.remove(offer.sequence) != nil
            if position >= offers.count - count || counts { kept.append(offer) }
        }
        offers = kept.reversed()
    }
}

extension ChannelPointer {
    /// The latest time at which an offer can have been made, in milliseconds since 1970: times of signed pointers
    /// never go back.
    /// - Parameter count: the number of offers; where the clock stands still, times grow by one millisecond each.
    func latestOffer(among count: Int) -> Int64 {
        let end = SequenceBound.timeMax
        let time = isSigned ? ([createdAt] + releases.map(\.createdAt)).max() ?? end : end
        return (min(time, end) + 1) * 1000 + Int64(count)
    }
}

extension ClientOffer {
    func isOffer(of release: ChannelRelease) -> Bool {
        if case .version(_, let facts) = target, facts != release.facts?.address { return false }
        return hasTarget(of: release)
    }

    private func hasTarget(of release: ChannelRelease) -> Bool {
        switch (target, release.target) {
        case (.embedded, .embedded): true
        case (.version(let mine, _), .version(let theirs)): mine.unplaced == theirs.unplaced
        default: false
        }
    }

    fileprivate func isOffered(by pointer: ChannelPointer) -> Bool {
        pointer.releases.contains(where: hasTarget)
    }

    /// 0 without a label.
    var labelNumber: Int64 {
        guard let label, label.hasPrefix("v"), let number = Int64(label.dropFirst()) else {
            return 0
        }
        return number
    }

    var isSigned: Bool { !signatures.isEmpty || documents.contains { $0.signature != nil } }
}
