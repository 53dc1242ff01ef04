import CASStore
import HotPush
import Storage
import StrictJSON

// A stranger's entries in a signed origin: they cannot be removed, and must not prevent publishing.
extension OriginLog {
    private static let strangerCountMax = 1 << 16

    /// The entry that counts at a number: the one there, or the last before it that no stranger has written.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat` if the entry cannot be read and nothing is signed.
    func validEntry(at number: Int64) throws(StoreError) -> ValidEntry {
        let newest = try reading(number)
        if case .entry(let entry) = newest, try !isDoubtful(entry, number) {
            return ValidEntry(place: number, entry: entry)
        }
        if let (place, entry) = try base(before: number), newest != nil {
            let base = try state(at: place, entry)
            let isAhead = newest?.entry?.isAhead == true
            if !base.signed.isEmpty || isAhead || trusts != nil,
                let valid = try validEntry(at: number, upon: base, isAhead: isAhead)
            {
                return valid
            }
        }
        // Without signatures, anybody who may write may publish, and no publication may be lost.
        return ValidEntry(place: number, entry: try pastEntry(number))
    }

    /// An entry that counts.
    struct ValidEntry {
        var place: Int64
        var entry: LogEntry
        /// As ``EntryChain/overruled``.
        var overruled: [ChannelName: Int64] = [:]
    }

    /// The entries after a base that were judged already, of which there may be many.
    struct Judged {
        var base: Int64
        var chain: EntryChain
        var valid: ValidEntry
        var newer: StoreError?
    }

    func countedEntry(_ number: Int64) throws(StoreError) -> LogEntry? {
        guard try reading(number) != nil else { return nil }
        let valid = try validEntry(at: number)
        return valid.place == number ? valid.entry : nil
    }

    /// The error for a copy that names a missing entry.
    /// - Parameter isReplaced: whether something else has the number.
    func lacks(
        _ number: Int64, namedBy key: String, isReplaced: Bool = false
    ) -> StoreError {
        StoreError(
            .damagedOrigin,
            "\(key) in \(storage.place) names entry \(number), which the log does not have: it has lost its last entries, "
                + "something else stands in the place of one, or castree did not write that file; restore "
                + "\(OriginLayout.log)/ from an older copy or, if there is none, continue with what is left: "
                + (isReplaced
                    ? "castree publish VERSION ORIGIN --adopt" : "castree fsck --repair"))
    }

    func add(_ number: Int64, to live: inout LiveReleases) throws(StoreError) {
        switch try reading(number) {
        case .entry(let entry):
            let authorship = try authorship(of: entry, number, upon: live.place)
            // It follows from what had the number without an entry, which is lost.
            if !live.add(entry, by: authorship), let gap = live.gap,
                authorship?.isTrusted ?? EntryOutline(entry, number).isSigned
            {
                _ = try pastEntry(gap)
            }
        case .refused(let error) where live.passesOver:
            // The following entries count: nobody builds them upon an entry of a newer castree.
            if trusts != nil { try checkIsStrangers(number, error) }
            live.pass()
        case nil where live.passesOver && passesGaps: live.skip()
        default: _ = try pastEntry(number)
        }
    }

    /// - Returns: `nil` without keys that can tell.
    private func authorship(
        of entry: LogEntry, _ number: Int64, upon place: (ChannelName) -> Int64?
    ) throws(StoreError) -> EntryAuthorship? {
        guard trusts != nil else { return nil }
        if try isTrusted(entry, number) { return EntryAuthorship(isTrusted: true) }
        var authorship = EntryAuthorship()
        for (channel, pointer) in entry.pointers {
            if let place = place(channel),
                let before = try reading(place)?.entry?.pointers[channel],
                try isTaken(before, by: pointer)
            {
                authorship.taken.insert(channel)
            }
        }
        return authorship
    }

    /// Whether somebody else has put a pointer in the place of one that trusted keys have signed.
    func isTaken(
        _ pointer: ChannelPointer, by other: ChannelPointer
    ) throws(StoreError) -> Bool {
        guard let trusts, try !trusts(other.signedContent), try trusts(pointer.signedContent)
        else { return false }
        return try !givesWay(pointer, other)
    }

    private func validEntry(
        at number: Int64, upon base: OriginState, isAhead: Bool
    ) throws(StoreError) -> ValidEntry? {
        var valid = ValidEntry(place: base.number, entry: base.entry)
        var newer: StoreError?
        var chain: EntryChain
        if let judged, judged.base == base.number, judged.chain.number <= number {
            (chain, valid, newer) = (judged.chain, judged.valid, judged.newer)
        } else {
            chain = EntryChain(base, pointerByteCountMax: pointerByteCountMax)
        }
        defer { judged = Judged(base: base.number, chain: chain, valid: valid, newer: newer) }
        while chain.number < number {
            let next = chain.number + 1
            var reason: String
            switch try reading(next) {
            case .entry(let entry):
                let (counts, breaches) = chain.add(
                    EntryOutline(entry, next),
                    by: try authorship(of: entry, next, upon: chain.place))
                if counts {
                    valid = ValidEntry(place: next, entry: entry, overruled: chain.overruled)
                    newer = nil
                }
                reason = counts ? "" : breaches.joined(separator: "; ")
            case .refused(let error):
                if trusts != nil { try checkIsStrangers(next, error) }
                if trusts == nil, error.code == .unsupportedFormat { newer = error }
                _ = chain.add(nil)
                reason = error.message
            case nil:
                _ = chain.add(nil)
                reason = "it is not there"
            }
            if valid.place != next { say(passingOver: next, reason, for: valid.place) }
        }
        // Without a key, nobody can tell that the entry is a stranger's.
        if let newer { throw newer }
        return chain.signed.isEmpty && !isAhead ? nil : valid
    }

    private func isDoubtful(_ entry: LogEntry, _ number: Int64) throws(StoreError) -> Bool {
        guard number > 1 else { return false }
        if entry.isAhead { return true }
        if trusts != nil { return try !isTrusted(entry, number) }
        if isWary { return true }
        do throws(StoreError) {
            let state = try state(at: number, entry)
            return state.pointers.isEmpty || !state.signed.isEmpty
        } catch {
            guard Self.saysEntryIsBad(error) else { throw error }
            return true
        }
    }

    /// The last entry before a number that an authorized publisher wrote, proved by signatures if there are any.
    private func base(
        before number: Int64
    ) throws(StoreError) -> (place: Int64, entry: LogEntry)? {
        for place in stride(from: number - 1, to: 0, by: -1) {
            // Of any number of a stranger's, none is believed: the next entry that is signed ends the search.
            let isLast = place == 1
            guard isLast || !strangers.contains(place), case .entry(let entry) = try reading(place),
                !entry.isAhead
            else { continue }
            let isCertain =
                trusts == nil
                ? entry.pointers.values.contains { $0.log == place } : try isTrusted(entry, place)
            if isCertain || isLast { return (place, entry) }
        }
        return nil
    }

    /// The last entry in a range that has a pointer signed for it or, if there is none, the one that counts at its
    /// beginning.
    /// - Parameter isKnown: whether a signature counts; `nil` for those of the trusted keys.
    func signedEntry(
        in range: Range<Int64>, by isKnown: ((ChannelPointer) -> Bool)? = nil
    ) throws(StoreError) -> LogEntry {
        for place in range.dropFirst().reversed() where isKnown != nil || !strangers.contains(place)
        {
            guard case .entry(let entry) = try reading(place), !entry.isAhead else {
                continue
            }
            let isSigned =
                if let isKnown {
                    entry.pointers.values.contains { $0.log == place && isKnown($0) }
                } else { try isTrusted(entry, place) }
            if isSigned { return entry }
        }
        return try validEntry(at: range.lowerBound).entry
    }

    /// Whether a trusted key has signed a pointer for this very entry.
    func isTrusted(_ entry: LogEntry, _ number: Int64) throws(StoreError) -> Bool {
        guard let trusts, !strangers.contains(number) else { return false }
        for pointer in entry.pointers.values where pointer.log == number {
            if try trusts(pointer.signedContent) { return true }
        }
        if strangers.count < Self.strangerCountMax { strangers.insert(number) }
        return false
    }

    /// - Throws: why an entry cannot be read, if it may be a newer castree's: nobody may replace what that builds upon.
    private func checkIsStrangers(_ number: Int64, _ error: StoreError) throws(StoreError) {
        guard error.code == .unsupportedFormat else { return }
        guard let trusts, let bytes = try bytes(of: number),
            // It has a format number, so it was parsed before.
            let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 18))
        else { throw error }
        // The pointers may be newer, too; the signer and the entry are written alike in every format.
        for member in document["pointers"]?.asObject ?? []
        where member.value["log"]?.asInt64 == number {
            if let content = SignedBytes(member.value), try trusts(content) { throw error }
        }
    }
}
