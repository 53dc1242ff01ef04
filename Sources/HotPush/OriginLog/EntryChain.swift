import CASStore

/// The entries of a log one after the other: which of them count, and which a stranger has written.
///
/// Where something is signed, an entry that cannot be read, or breaks the rules, is passed over: its number is used up,
/// and the next one follows the last that counts. Elsewhere whoever may write may publish, and all count that can be
/// read.
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
