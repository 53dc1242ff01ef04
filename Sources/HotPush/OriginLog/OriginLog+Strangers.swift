import CASStore
import Storage
import StrictJSON

// A stranger's entries in a signed origin: they cannot be removed, and must not prevent publishing.
extension OriginLog {
    private static let lookedAtCountMax = 1_000
    private static let strangerCountMax = 1 << 16

    /// The entry that counts at a number: the one there, or the last before it that no stranger has written.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat` if the entry cannot be read and nothing is signed.
    func standing(at number: Int64) throws(StoreError) -> (place: Int64, entry: LogEntry) {
        let newest = try reading(number)
        if case .entry(let entry) = newest, try !isDoubtful(entry, number) {
            return (number, entry)
        }
        if let base = try base(before: number), newest != nil {
            let signed = try state(at: base.place, base.entry).signed
            if !signed.isEmpty || newest?.entry?.isAhead(number) == true {
                return try standing(at: number, upon: base, signed)
            }
        }
        // Without signatures, anybody who may write may publish, and no publication may be lost.
        return (number, try pastEntry(number))
    }

    func countedEntry(_ number: Int64) throws(StoreError) -> LogEntry? {
        guard try reading(number) != nil else { return nil }
        let (place, entry) = try standing(at: number)
        return place == number ? entry : nil
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
        guard case .refused(let error) = try reading(number), live.passesOver else {
            let entry = try pastEntry(number)
            return live.add(entry, isVouched: try isVouched(entry, number))
        }
        // The following entries count: nobody builds them upon an entry of a newer castree.
        if vouches != nil { try checkIsStrangers(number, error) }
        live.pass()
    }

    private func standing(
        at number: Int64, upon base: (place: Int64, entry: LogEntry), _ signed: Set<ChannelName>
    ) throws(StoreError) -> (place: Int64, entry: LogEntry) {
        var standing = base
        var newer: StoreError?
        var chain = EntryChain(EntryOutline(base.entry, base.place), base.place, signed: signed)
        for next in base.place + 1...number {
            var reason: String
            switch try reading(next) {
            case .entry(let entry):
                let (counts, breaches) = chain.add(
                    EntryOutline(entry, next), isVouched: try isVouched(entry, next))
                if counts { (standing, newer) = ((next, entry), nil) }
                reason = counts ? "" : breaches.joined(separator: "; ")
            case .refused(let error):
                if vouches != nil { try checkIsStrangers(next, error) }
                if vouches == nil, error.code == .unsupportedFormat { newer = error }
                _ = chain.add(nil)
                reason = error.message
            case nil:
                _ = chain.add(nil)
                reason = "it is not there"
            }
            if standing.place != next { say(passingOver: next, reason, for: standing.place) }
        }
        // Without a key, nobody can tell that the entry is a stranger's.
        if let newer { throw newer }
        return standing
    }

    private func isDoubtful(_ entry: LogEntry, _ number: Int64) throws(StoreError) -> Bool {
        guard number > 1 else { return false }
        if entry.isAhead(number) { return true }
        if vouches != nil { return try !isVouched(entry, number) }
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
            let isLast = place == 1 || number - place > Self.lookedAtCountMax
            guard isLast || !strangers.contains(place), case .entry(let entry) = try reading(place),
                !entry.isAhead(place)
            else { continue }
            let isCertain =
                vouches == nil
                ? entry.pointers.values.contains { $0.log == place } : try isVouched(entry, place)
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
            guard case .entry(let entry) = try reading(place), !entry.isAhead(place) else {
                continue
            }
            let isSigned =
                if let isKnown {
                    entry.pointers.values.contains { $0.log == place && isKnown($0) }
                } else { try isVouched(entry, place) }
            if isSigned { return entry }
        }
        return try standing(at: range.lowerBound).entry
    }

    /// Whether a trusted key has signed a pointer for this very entry.
    func isVouched(_ entry: LogEntry, _ number: Int64) throws(StoreError) -> Bool {
        guard let vouches, !strangers.contains(number) else { return false }
        for pointer in entry.pointers.values where pointer.log == number {
            if try vouches(pointer.seal) { return true }
        }
        if strangers.count < Self.strangerCountMax { strangers.insert(number) }
        return false
    }

    /// - Throws: why an entry cannot be read, if it may be a newer castree's: nobody may replace what that builds upon.
    private func checkIsStrangers(_ number: Int64, _ error: StoreError) throws(StoreError) {
        guard error.code == .unsupportedFormat else { return }
        guard let vouches, let bytes = try bytes(of: number),
            // It has a format number, so it was parsed before.
            let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 18))
        else { throw error }
        // The pointers may be newer, too; the signer and the entry are written alike in every format.
        for member in document["pointers"]?.asObject ?? []
        where member.value["log"]?.asInt64 == number {
            if let seal = PointerSeal(member.value), try vouches(seal) { throw error }
        }
    }
}
