import CASStore

/// A release, and where it was found.
public struct FoundRelease: Sendable {
    /// What is offered.
    public var release: Release
    /// How it is written.
    package var format: any ReleaseFormat
    /// Where it was found.
    package var location: OriginLocation
    /// What the sources of its files are relative to.
    package var origin: OriginURL
    /// The address of its content, by which bans are kept; `nil` if the format does not give it.
    let content: ObjectID?
    /// When the origin said so.
    var offeredAt = ContinuousClock.now
    /// The channel's pointer that offers it; `nil` for other formats.
    var sighting: SeenSequences.Sighting?
    /// What the store makes of that pointer.
    var standing = PointerStanding.unjudged
    /// What the channel's pointer names; `nil` for other formats.
    var published: PublishedVersion?
    /// Where its objects stand, if that came with its manifest; `nil` if it did not, or all stand in its epoch.
    var places: Places?
    /// The epoch in which its packs stand.
    var deliveryEpoch: Int64 = 0
    /// The ways to its content; `nil` if there are no packs.
    package var choice: DeliveryChoice?

    /// The packs by which to get it, the best first.
    var packs: [Delivery.Pack] { choice?.packs ?? [] }

    /// Whether its manifest has not come yet, so that ``release`` has no files: a pack brings both.
    package var isPromise: Bool { published != nil && release.received.isEmpty }

    /// Whether another offer is of the same release.
    func isSame(as other: FoundRelease) -> Bool {
        if let published, let others = other.published {
            // The same content may stand elsewhere by now.
            return published.manifest == others.manifest && published.epoch == others.epoch
                && published.places == others.places
        }
        return release.received == other.release.received
    }
}

/// What an origin answers.
public enum OriginAnswer: Sendable {
    /// It offers a release.
    case release(FoundRelease)
    /// It offers content that a version of the store has, so its manifest was not fetched.
    case known(version: String)
    /// Devices should run what was shipped with the app.
    case embedded
    /// Nothing that it offers is for this device; the reasons, one for each release.
    case nothing([String])
}

/// A release that a roll-out keeps from this device so far.
package struct PassedOverRelease: Sendable, Hashable {
    /// Its version.
    package let version: String
    /// Of so many of 1,000 devices.
    package let perMille: Int

    /// A sentence for people.
    package var sentence: String {
        "version \(version) is passed over: so far it is for \(perMille) of 1,000 devices, and not for this one"
    }
}

/// An origin's answer, and its basis: what the steps after asking need to know.
package struct OriginReply: Sendable {
    /// What the origin answers.
    package var answer: OriginAnswer
    /// The chosen release as the channel's pointer offers it; if none was chosen, the newest.
    var offered: OfferedRelease?
    /// The release behind ``OriginAnswer/known(version:)``, if its document was read.
    var known: Release?
    /// The channel's pointer; nil for other formats and for an older copy.
    var sighting: SeenSequences.Sighting?
    /// The trusted keys that have signed the channel's pointer, by id; empty where the store takes what comes.
    package var signers: [String] = []
    /// What the channel has for a share of the devices, to which this one does not belong.
    package var passedOver: [PassedOverRelease] = []
    /// Whether the pointer is an older copy: a cache or mirror is behind.
    package var isOlderCopy = false

    init(_ answer: OriginAnswer) { self.answer = answer }

    /// The reply to a pointer that is older than one seen before.
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

    /// Whether it is of the same release, which is here by now.
    ///
    /// - Parameter version: its name here.
    func stillOffers(_ offer: FoundRelease, as version: String) -> Bool {
        switch answer {
        case .known(let name): name == version
        case .release(let found): found.isSame(as: offer)
        case .embedded, .nothing: false
        }
    }

    /// Whether its publisher says that the app must not go on without it.
    package var isMandatory: Bool {
        switch answer {
        case .release(let found): found.release.isMandatory
        case .known: known?.isMandatory ?? offered?.isMandatory ?? false
        case .embedded: offered?.isMandatory ?? false
        case .nothing: false
        }
    }

    /// Why nothing is for this device, if that is the answer.
    package var reasons: [String] {
        if case .nothing(let reasons) = answer { reasons } else { [] }
    }
}
