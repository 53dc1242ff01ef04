import HotPush

/// What a channel has offered to the clients of a system: the file `for/<system>/<channel>.json`.
///
/// The publisher appends to it before it replaces the pointer. So a reader that finds an offer above the pointer's
/// sequence ignores it.
struct ClientHistory: Sendable, Hashable {
    var system: ClientSystem
    var channel: ChannelName
    /// The offers, oldest first.
    var offers: [ClientOffer]
    /// The largest number of a label so far; labels go on from it when old offers are dropped.
    var labelCount: Int64
    /// The entry of the origin's log in which its newest offers stand; `nil` where there is no log.
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
    /// A release without an offer in the history is not here: it was published before the system was enabled.
    var live: [Live]
    /// All offers up to the pointer, oldest first, also those that are no longer offered.
    var past: [ClientOffer]

    /// A release of the pointer and its offer.
    struct Live: Sendable, Hashable {
        /// What the pointer says: target, requirements, roll-out, mandatory.
        var release: OfferedRelease
        var offer: ClientOffer
    }

    /// Joins a pointer and a history by the sequence of each release; offers above the pointer are left out.
    ///
    /// Only the pointer may be signed: an offer counts for a release only if it says of it what the pointer says. So
    /// who can write histories, and no pointers, makes no client take anything else.
    init(_ pointer: ChannelPointer, _ history: ClientHistory) {
        past = history.offers.filter { $0.sequence <= pointer.sequence }
        let releases = Dictionary(pointer.releases.map { ($0.sequence, $0) }) { first, _ in first }
        var offers: [Int64: ClientOffer] = [:]
        // A later line counts, should a sequence stand twice.
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
