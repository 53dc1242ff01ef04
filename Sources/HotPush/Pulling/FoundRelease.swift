import CASStore

/// A release, and where it was found.
public struct FoundRelease: Sendable {
    /// What the origin offers.
    public var release: Release
    package var format: any ReleaseFormat
    package var location: OriginLocation
    package var origin: OriginURL
    /// The address of its content, by which bans are kept; `nil` if the format does not give it.
    let content: ObjectID?
    var offeredAt = ContinuousClock.now
    /// The channel's pointer that offers it; `nil` for other formats.
    var sighting: SeenSequences.Sighting?
    var standing = PointerStanding.unjudged
    /// What the channel's pointer names; `nil` for other formats.
    var published: PublishedVersion?
    /// The epochs of its objects; `nil` if not fetched, or if all objects are in the release's epoch.
    var places: Places?
    var deliveryEpoch: Int64 = 0
    /// The ways to fetch it; `nil` without packs.
    package var choice: DeliveryChoice?

    var packs: [Delivery.Pack] { choice?.packs ?? [] }

    /// Whether the manifest has not been fetched, so that ``release`` has no files; a pack brings both.
    package var isPromise: Bool { published != nil && release.received.isEmpty }

    func isSame(as other: FoundRelease) -> Bool {
        if let published, let others = other.published {
            // The same content may have moved.
            return published.manifest == others.manifest && published.epoch == others.epoch
                && published.places == others.places
        }
        return release.received == other.release.received
    }
}

/// What an origin answers.
public enum OriginAnswer: Sendable {
    /// The origin offers a release.
    case release(FoundRelease)
    /// The origin offers content that a version of the store has, so its manifest was not fetched.
    case known(version: String)
    /// Devices should run the version that was shipped with the app.
    case embedded
    /// Nothing is for this device; one reason for each release.
    case nothing([String])
}

package struct PassedOverRelease: Sendable, Hashable {
    package let version: String
    package let perMille: Int

    package var sentence: String {
        "version \(version) is passed over: so far it is for \(perMille) of 1,000 devices, and not for this one"
    }
}

/// An origin's answer, and the basis that later steps need.
package struct OriginReply: Sendable {
    package var answer: OriginAnswer
    /// The chosen release as the channel's pointer offers it; without one, the newest.
    var offered: OfferedRelease?
    /// The release behind ``OriginAnswer/known(version:)``, if its document was read.
    var known: Release?
    /// The channel's pointer; nil for other formats and for an older copy.
    var sighting: SeenSequences.Sighting?
    /// The ids of the trusted keys that signed the channel's pointer; empty if the store accepts unsigned releases.
    package var signers: [String] = []
    /// Partial rollouts that do not include this device.
    package var passedOver: [PassedOverRelease] = []
    package var isOlderCopy = false

    init(_ answer: OriginAnswer) { self.answer = answer }

    static func olderCopy(_ pointer: ChannelPointer, than newer: Int64) -> OriginReply {
        var reply = OriginReply(
            .nothing([
                "the channel's pointer is an older copy: its sequence is \(pointer.sequence), "
                    + "and \(newer) was seen before; a cache or mirror may be behind, or a backup was "
                    + "put back: then castree publish --adopt of what is offered goes on above it"
            ]))
        reply.isOlderCopy = true
        return reply
    }

    /// Whether the reply still offers the release that is here by now as `version`.
    func stillOffers(_ offer: FoundRelease, as version: String) -> Bool {
        switch answer {
        case .known(let name): name == version
        case .release(let found): found.isSame(as: offer)
        case .embedded, .nothing: false
        }
    }

    /// Whether the publisher requires the release before the app may continue.
    package var isMandatory: Bool {
        switch answer {
        case .release(let found): found.release.isMandatory
        case .known: known?.isMandatory ?? offered?.isMandatory ?? false
        case .embedded: offered?.isMandatory ?? false
        case .nothing: false
        }
    }

    package var reasons: [String] {
        if case .nothing(let reasons) = answer { reasons } else { [] }
    }
}

/// The ways to fetch a release and their costs, decided before a byte arrives: ``Pull`` follows it, `--dry-run` prints
/// it.
package struct DeliveryChoice: Sendable, Hashable {
    package struct Way: Sendable, Hashable {
        /// `nil` means fetching objects one by one.
        package var pack: Delivery.Pack?
        /// For objects one by one, an estimate until the manifest is known.
        package var byteCount: Int64
        package var requestCount: Int64
        /// Whether only parts of the pack are requested; the figures are then estimates.
        package var isByRanges = false

        /// The bytes, plus ``PackSpans/requestByteCount`` for each request.
        package var cost: Int64 {
            let (worth, isHuge) = requestCount.multipliedReportingOverflow(
                by: PackSpans.requestByteCount)
            return isHuge ? .max : byteCount.addingClamped(worth)
        }

        package var name: String {
            guard let pack else { return "objects" }
            return pack.base != nil ? "from" : isByRanges ? "ranges" : "whole"
        }
    }

    /// Cheapest first; among equals, the one with fewer requests.
    package let ways: [Way]
    package let objectCount: Int64
    package let contentByteCount: Int64

    init(
        _ delivery: Delivery, of version: PublishedVersion, isHeld: (ObjectID) -> Bool
    ) {
        var usable: [Delivery.Pack] = []
        for pack in delivery.packs where pack.isReadable {
            if let base = pack.base, !isHeld(base) { continue }
            usable.append(pack)
        }
        // A pack based on content in the store holds only what that content is missing.
        let least = usable.min { $0.contentByteCount < $1.contentByteCount }
        objectCount = least?.objectCount ?? 0
        contentByteCount = least?.contentByteCount ?? 0
        var ways = usable.map { Way(pack: $0, byteCount: $0.byteCount, requestCount: 1) }
        ways.append(
            Way(
                pack: nil, byteCount: contentByteCount.addingClamped(version.manifestByteCount),
                requestCount: objectCount.addingClamped(1)))
        ways.sort {
            ($0.cost, $0.requestCount, $0.pack?.base == nil ? 1 : 0)
                < ($1.cost, $1.requestCount, $1.pack?.base == nil ? 1 : 0)
        }
        // Without a pack, the cost of the objects is unknown.
        self.ways = usable.isEmpty ? [] : ways
    }

    /// The ways once the missing content is known: exact for objects one by one; for ranges of a full pack, assuming
    /// that the missing objects are spread evenly.
    package func ways(missing count: Int, _ byteCount: Int64) -> [Way] {
        var ways: [Way] = []
        for way in self.ways {
            guard let pack = way.pack else {
                ways.append(Way(pack: nil, byteCount: byteCount, requestCount: Int64(count)))
                continue
            }
            ways.append(way)
            guard pack.base == nil, pack.contentByteCount > 0, byteCount < pack.contentByteCount
            else { continue }
            let share = Double(byteCount) / Double(pack.contentByteCount)
            let frames = Double(pack.byteCount - pack.openingByteCount) * share
            var ranges = Way(
                pack: pack, byteCount: pack.openingByteCount + Int64(frames), requestCount: 2)
            ranges.isByRanges = true
            ways.append(ranges)
        }
        ways.sort { ($0.cost, $0.requestCount) < ($1.cost, $1.requestCount) }
        return ways
    }

    var packs: [Delivery.Pack] {
        ways.prefix { $0.pack != nil }.compactMap(\.pack)
    }
}
