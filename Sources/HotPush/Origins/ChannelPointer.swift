package import CASStore
package import StrictJSON
public import VersionTree

/// What a channel offers, in the only file of a channel that changes.
///
/// A value; `docs/origin-format.md` describes its JSON. A client takes the first of ``releases`` that is for its
/// device. If `sequence` is lower than one seen before, the pointer is an old copy from a cache and is ignored.
public struct ChannelPointer: Sendable, Hashable {
    package static let formatVersion: Int64 = 1
    package static let byteCountMax = 256 * 1024
    /// The largest sequence and time, which every JSON reader keeps exact (RFC 8259, section 6).
    package static let sequenceMax: Int64 = (1 << 53) - 1
    /// The last possible entry of a log: its name has ten digits.
    package static let logMax: Int64 = 9_999_999_999
    package static let withdrawnCountMax = 64
    package static let releaseCountMax = 64

    /// The channel.
    public var channel: ChannelName
    /// Grows with every change of the pointer and never decreases.
    package var sequence: Int64
    /// When the pointer was written, in seconds since 1970; for people.
    package var createdAt: Int64
    /// What is offered, newest first.
    public var releases: [ChannelRelease]
    /// Withdrawn versions, latest first, at most ``withdrawnCountMax``; no other content gets their names.
    package var withdrawn: [WithdrawnVersion] = []
    /// The entry of the origin's log that has it; `nil` for the first entry, and without a log.
    ///
    /// A hint for publishers. A device only concludes that no release is in a later epoch.
    package var log: Int64?
    /// 32 lower-case hexadecimal digits that bind a signed pointer to its origin; `nil` in an unsigned origin.
    package var origin: String?
    /// The version of the origin's trust (`TrustFile`) whose keys sign it; `nil` before any rotation.
    package var trustVersion: Int64?
    /// When it expires, in seconds since 1970; `nil` for never.
    package var expiresAt: Int64?
    /// Sorted by key, each key once, at most ``PointerSignature/countMax``; every change of the pointer drops them.
    package var signatures: [PointerSignature] = []
    /// Unknown fields, kept verbatim.
    package var foreign: [JSONValue.Member] = []
}

/// A version that a channel has offered and withdrawn.
package struct WithdrawnVersion: Sendable, Hashable {
    package var name: VersionName
    package var content: ObjectID

    package init(name: VersionName, content: ObjectID) {
        self.name = name
        self.content = content
    }
}

/// One release as a channel offers it.
public struct ChannelRelease: Sendable, Hashable {
    /// What a device should run.
    package var target: Target
    /// The pointer's sequence when the release was offered, larger than every older release's.
    package var sequence: Int64
    /// When it was offered, in seconds since 1970; for people.
    package var createdAt: Int64
    /// Which devices may have it; `nil` for all.
    package var rollout: Rollout?
    /// What an app must satisfy to run it, sorted by kind.
    ///
    /// An unknown kind is not satisfied. The requirement of an epoch (``Requirement/knowingEpochs``) is not listed:
    /// it is written and read with the epoch.
    package var requirements: [Requirement]
    /// Whether an app must install it before continuing.
    package var isMandatory: Bool
    /// The packs that lead to its manifest; `nil` for none.
    package var delivery: PublishedDelivery?
    /// What other systems' clients need to know of its objects; `nil` if no such system is enabled.
    package var facts: PublishedFacts?
    /// Unknown fields, kept verbatim.
    package var foreign: [JSONValue.Member]

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
        // As in the file, so that equal offers are equal values.
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

    /// Whether every device that may have this release may have `newer`, so that nobody reaches this one.
    func isHidden(by newer: ChannelRelease) -> Bool {
        if let rollout = newer.rollout, rollout.perMille < 1000 { return false }
        for requirement in newer.requirements where !requirements.contains(requirement) {
            return false
        }
        return true
    }
}

/// The address of a release's facts (``ContentFacts``), and where they and their deflated copies are.
package struct PublishedFacts: Sendable, Hashable {
    package var address: ObjectID
    /// The epoch of the facts; no deflated copy is in a later one.
    package var epoch: Int64 = 0
    /// The SHA-256 of the deflated copies' ``Places`` (in the facts' epoch, over their distinct addresses in
    /// ascending order); `nil` if all are in the facts' epoch.
    package var places: ObjectID?

    package init(address: ObjectID, epoch: Int64 = 0, places: ObjectID? = nil) {
        self.address = address
        self.epoch = epoch
        self.places = places
    }
}

/// How to find a version in an origin, and how to recognize it.
public struct PublishedVersion: Sendable, Hashable {
    /// The version's name.
    public var name: VersionName
    /// The SHA-256 of the manifest's bytes, which gives its path.
    package var manifest: ObjectID
    package var manifestByteCount: Int64
    /// The address of its content (``VersionTree/Manifest/contentAddress()``), to which bans apply.
    ///
    /// A client that has the content needs no manifest.
    package var content: ObjectID
    /// The epoch of the manifest; no object is in a later one.
    package var epoch: Int64 = 0
    /// The SHA-256 of the objects' ``Places``; `nil` if all are in the manifest's epoch.
    package var places: ObjectID?

    /// The same version regardless of where its files are.
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
