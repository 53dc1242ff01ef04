import HotPush
import Origin

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
