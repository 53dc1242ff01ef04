import CASStore
import HotPush
import Storage
import StrictJSON

// Where the log ends. Anybody may have put a file far behind its last entry, or have named it in a pointer.
extension OriginLog {
    /// How far an entry beyond a gap may be: each number up to there costs every command requests.
    private static let gapMax: Int64 = 16

    /// Whether a number is taken, perhaps by a stranger.
    func has(_ number: Int64) throws(StoreError) -> Bool {
        guard 1...ChannelPointer.logMax ~= number else { return false }
        return try reading(number) != nil
    }

    /// The number of the newest entry, whatever it is; `nil` if there is no log.
    ///
    /// Entries have no gaps. A store that shows writes late may show an older end, upon which a commit is refused.
    func end(from hint: Int64) throws(StoreError) -> Int64? {
        var (hint, bound) = (hint, ChannelPointer.logMax + 1)
        while let found = try end(from: hint, below: bound) {
            guard let gap = try gap(below: found) else { return found }
            (hint, bound) = (hint < gap ? hint : 0, gap)
        }
        return nil
    }

    /// A free number far below an end that only strangers' entries have, which are in nobody's way there; `nil` if keys
    /// that can tell have signed what is there, and without such keys.
    private func gap(below end: Int64) throws(StoreError) -> Int64? {
        guard trusts != nil else { return nil }
        var freeCount: Int64 = 0
        for place in stride(from: end, to: 0, by: -1) {
            let there = strangers.contains(place) ? nil : try reading(place)
            if let entry = there?.entry, try isTrusted(entry, place) { return nil }
            freeCount = there == nil && !strangers.contains(place) ? freeCount + 1 : 0
            if freeCount > Self.gapMax { return place }
        }
        return nil
    }

    private func end(from hint: Int64, below bound: Int64) throws(StoreError) -> Int64? {
        // The last taken number and the first free one. Anybody may have written the pointer with the hint.
        let counts =
            switch try presence(hint) {
            case .entry: true
            case .other: try presence(hint - 1) == .entry
            case .none: false
            }
        var found = counts ? hint : 0
        while true {
            var step: Int64 = 1
            var missing = bound
            var next = Presence.none
            while missing - found > 1 {
                let isBounded = missing <= ChannelPointer.logMax
                let probe =
                    isBounded ? found + (missing - found) / 2 : min(found + step, missing - 1)
                if !isBounded { step *= 2 }
                let there = try presence(probe)
                if there == .entry { found = probe } else { (missing, next) = (probe, there) }
            }
            // What is no entry takes a number only if it follows an entry; far from one, anybody may have put it there.
            guard next == .other else { return found > 0 ? found : nil }
            try refuseAnyName()
            found = missing
        }
    }

    /// - Throws: `.bucketAnswer` if a number drawn by lot has a file, too: then something answers in the bucket's place,
    ///   such as a login page, and a search for the end would have none.
    private func refuseAnyName() throws(StoreError) {
        guard !isAnsweringFiles else { return }
        let number = Int64.random(in: ChannelPointer.logMax / 2...ChannelPointer.logMax)
        guard case .refused = try reading(number) else {
            isAnsweringFiles = true
            return
        }
        throw StoreError(
            .bucketAnswer,
            "\(storage.place) answers every name with a document that castree has not written, as a login page does; check "
                + "the endpoint and the proxy")
    }

    private enum Presence { case entry, other, none }

    /// What has a number: an entry, perhaps of a newer castree, or something else.
    private func presence(_ number: Int64) throws(StoreError) -> Presence {
        guard 1...ChannelPointer.logMax ~= number else { return .none }
        return switch try reading(number) {
        case .entry: .entry
        case .refused(let error): Self.saysEntryIsBad(error) ? .other : .entry
        case nil: .none
        }
    }

    /// `nil` if there is no log.
    func state(from hint: Int64) throws(StoreError) -> OriginState? {
        try lastEntry(from: hint).map { (end, last) throws(StoreError) in try noted(end, last) }
    }

    /// The entry that counts at the end of the log, up to the first gap; `nil` if there is no log.
    func lastEntry(from hint: Int64) throws(StoreError) -> (end: Int64, valid: ValidEntry)? {
        try end(from: hint).map { (end) throws(StoreError) in (end, try validEntry(at: end)) }
    }

    /// The state after the newest entry, even beyond a gap; `nil` if there is no log.
    func newestState(from hint: Int64) throws(StoreError) -> OriginState? {
        try newestEntry(from: hint).map { (end, newest) throws(StoreError) in
            try noted(end, newest)
        }
    }

    /// The newest entry that counts, even beyond a gap, and the last number that is taken; `nil` if there is no log.
    ///
    /// A new entry in place of a lost one would precede entries that do not follow from it.
    func newestEntry(from hint: Int64) throws(StoreError) -> (end: Int64, valid: ValidEntry)? {
        var newest = try lastEntry(from: hint)
        while let known = newest, let later = try later(than: known.end),
            let newer = try lastEntry(from: later), newer.end > known.end
        {
            newest = newer
        }
        return newest
    }

    /// The first entry after a number, even beyond a gap; `nil` if a listing shows none or is forbidden.
    ///
    /// What is no entry proves no loss, and one too far away would use up the numbers: anybody may have put it there.
    private func later(than number: Int64) throws(StoreError) -> Int64? {
        let request = ListRequest(
            prefix: OriginLayout.log + "/", startAfter: OriginLayout.logEntry(number), countMax: 100
        )
        let page = try allowing([.accessDenied], try storage.list(request))
        let numbers = (page?.files ?? []).compactMap { OriginLayout.number(ofLogEntry: $0.key) }
        for next in numbers where next - number <= Self.gapMax {
            switch try reading(next) {
            case .refused(let error) where Self.saysEntryIsBad(error): continue
            case nil: continue
            default: return next
            }
        }
        return nil
    }

    // A stranger's entries in a signed origin: they cannot be removed, and must not prevent publishing.

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
    func lacks(_ number: Int64, namedBy key: String, isReplaced: Bool = false) -> StoreError {
        StoreError(
            .damagedOrigin,
            "\(key) in \(storage.place) names entry \(number), which the log does not have: it has lost its last entries, "
                + "something else stands in the place of one, or castree did not write that file; restore "
                + "\(OriginLayout.log)/ from an older copy or, if there is none, continue with what is left: "
                + (isReplaced ? "castree publish VERSION ORIGIN --adopt" : "castree fsck --repair"))
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
    func isTaken(_ pointer: ChannelPointer, by other: ChannelPointer) throws(StoreError) -> Bool {
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
    private func base(before number: Int64) throws(StoreError) -> (place: Int64, entry: LogEntry)? {
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
