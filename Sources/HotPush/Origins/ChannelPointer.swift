package import CASStore
package import StrictJSON
public import VersionTree

/// What a channel offers: the only file of a channel that changes.
///
/// A value; `docs/origin-format.md` describes its JSON. A client takes the first of ``releases`` that
/// is for its device, unless `sequence` is lower than one that it has seen before: then the answer is
/// an old copy from a cache.
public struct ChannelPointer: Sendable, Hashable {
    package static let formatVersion: Int64 = 1
    package static let byteCountMax = 256 * 1024
    /// The largest sequence and time: every JSON reader keeps it exact (RFC 8259, section 6).
    package static let sequenceMax: Int64 = (1 << 53) - 1
    /// The last entry that a log can have: its name has ten digits.
    package static let logMax: Int64 = 9_999_999_999
    package static let withdrawnCountMax = 64
    package static let releaseCountMax = 64

    /// The channel.
    public var channel: ChannelName
    /// Grows with every change of the pointer and never goes back.
    package var sequence: Int64
    /// When the pointer was written, in seconds since 1970; for people.
    package var createdAt: Int64
    /// What is offered, newest first.
    public var releases: [OfferedRelease]
    /// What was withdrawn from the channel, the last first, at most ``withdrawnCountMax``: a device may have it under its name
    /// for good, so no other content gets that.
    package var withdrawn: [WithdrawnVersion] = []
    /// The number of the entry of the origin's log in which it stands; `nil` for the first entry, and where there is no
    /// log.
    ///
    /// A hint for publishers. A device only concludes that no release stands in a later epoch.
    package var log: Int64?
    /// The id of the origin, drawn when it was first signed; `nil` in an origin that nobody has signed.
    ///
    /// 32 lower-case hexadecimal digits. It keeps a signed pointer from being put into another origin.
    package var origin: String?
    /// The version of the origin's trust (`TrustFile`) whose keys sign it; `nil` for the first, before any rotation.
    package var trustVersion: Int64?
    /// Until when it may be obeyed, in seconds since 1970; `nil` for ever.
    package var expiresAt: Int64?
    /// Who vouches for it: sorted by key, each key once, at most ``PointerSignature/countMax``.
    ///
    /// Whatever changes the pointer drops them.
    package var signatures: [PointerSignature] = []
    /// Fields that castree does not know, kept as they came.
    package var foreign: [JSONValue.Member] = []
}

/// What a channel has offered under a name, and offers no more.
package struct WithdrawnVersion: Sendable, Hashable {
    package var name: VersionName
    package var content: ObjectID
}

/// One release as a channel offers it.
public struct OfferedRelease: Sendable, Hashable {
    /// What a device should run.
    package var target: Target
    /// The pointer's sequence when the release was offered: larger than that of every older one.
    package var sequence: Int64
    /// When it was offered, in seconds since 1970; for people.
    package var createdAt: Int64
    /// Which devices may have it; `nil` for all.
    package var rollout: Rollout?
    /// What an app must satisfy to run it; all of them.
    ///
    /// A kind that the client does not know is not satisfied. Sorted by kind. Does not list what follows from an epoch
    /// (``Requirement/knowingEpochs``): it is written and read with that.
    package var requirements: [Requirement]
    /// Whether an app must have it before it goes on.
    package var isMandatory: Bool
    /// Which packs lead to its manifest; `nil` if there are none.
    package var delivery: PublishedDelivery?
    /// What the clients of other systems need to know of its objects; `nil` if no such system is enabled.
    package var facts: PublishedFacts?
    /// Fields that castree does not know, kept as they came.
    package var foreign: [JSONValue.Member]

    /// What a device should run.
    package enum Target: Sendable, Hashable {
        /// A version of the origin.
        case version(PublishedVersion)
        /// What was shipped with the app.
        case embedded
    }

    package init(
        _ target: Target, sequence: Int64, createdAt: Int64, rollout: Rollout? = nil,
        requirements: [Requirement] = [], isMandatory: Bool = false,
        delivery: PublishedDelivery? = nil, facts: PublishedFacts? = nil,
        foreign: [JSONValue.Member] = []
    ) {
        self.target = target
        self.sequence = sequence
        self.createdAt = createdAt
        self.rollout = rollout
        // As in the file: equal offers are equal values.
        self.requirements = requirements.sorted {
            $0.kind.utf8.lexicographicallyPrecedes($1.kind.utf8)
        }
        self.isMandatory = isMandatory
        self.delivery = delivery
        self.facts = facts
        self.foreign = foreign
    }

    /// The version, unless devices should run what was shipped with the app.
    public var version: PublishedVersion? {
        if case .version(let version) = target { version } else { nil }
    }

    /// Whether every device that may have this one may have `newer`, so that nobody reaches this one.
    func isHidden(by newer: OfferedRelease) -> Bool {
        if let rollout = newer.rollout, rollout.perMille < 1000 { return false }
        for requirement in newer.requirements where !requirements.contains(requirement) {
            return false
        }
        return true
    }
}

/// The facts of a release (``ContentFacts``), and where they and their twins stand: as for the manifest and its objects.
package struct PublishedFacts: Sendable, Hashable {
    package var address: ObjectID
    /// The epoch in which the facts stand; no twin stands in a later one.
    package var epoch: Int64 = 0
    /// The SHA-256 of what says where the twins stand (``Places``, in the facts' epoch, over the distinct addresses of the
    /// twins in ascending order); `nil` if all stand in the facts' epoch.
    package var places: ObjectID?
}

/// A version in an origin: how to find it there, and how to recognize it.
public struct PublishedVersion: Sendable, Hashable {
    /// The version's name.
    public var name: VersionName
    /// The SHA-256 of the manifest's bytes, which gives its place.
    package var manifest: ObjectID
    /// The number of the manifest's bytes.
    package var manifestByteCount: Int64
    /// The address of its content (``VersionTree/Manifest/contentAddress()``): a client that has the
    /// content needs no manifest, and bans are kept by it.
    package var content: ObjectID
    /// The epoch in which the manifest stands; no object stands in a later one.
    package var epoch: Int64 = 0
    /// The SHA-256 of what says where the objects stand (``Places``); `nil` if all stand in the manifest's epoch.
    package var places: ObjectID?

    /// The same version, whatever epochs its files stand in.
    package var unplaced: PublishedVersion {
        var version = self
        (version.epoch, version.places) = (0, nil)
        return version
    }

    package init(
        name: VersionName, manifest: ObjectID, manifestByteCount: Int64, content: ObjectID,
        epoch: Int64 = 0, places: ObjectID? = nil
    ) {
        self.name = name
        self.manifest = manifest
        self.manifestByteCount = manifestByteCount
        self.content = content
        self.epoch = epoch
        self.places = places
    }
}
