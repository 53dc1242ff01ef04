import CASStore
import HotPush
import Storage

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
}
