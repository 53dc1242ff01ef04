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

    /// Whether the channel has offered that content, and does not any more.
    func withdraws(_ content: ObjectID) -> Bool {
        withdrawn.contains { $0.content == content }
            && !releases.contains { $0.version?.content == content }
    }

    package var signedContent: SignedBytes {
        SignedBytes(origin: origin, signedBytes: signedBytes, signatures: signatures)
    }
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

    var audience: Audience {
        var audience = Audience()
        audience.rollout = rollout
        return audience
    }

    var writtenRequirements: [Requirement] {
        // A later castree may have written a stricter requirement of this kind.
        guard let version, version.epoch > 0, !requirements.haveEpochs else { return requirements }
        return requirements + [.knowingEpochs]
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

// Rules for the conditions of an offer, whoever wrote them.

extension Rollout {
    static let saltByteCountMax = 128

    /// The rule that it breaks; `nil` if none.
    package var problem: String? {
        if !(0...1000).contains(perMille) { return "a roll-out is from 0 to 1000 per mille" }
        if salt.utf8.count > Self.saltByteCountMax {
            return "the salt of a roll-out has at most \(Self.saltByteCountMax) bytes"
        }
        if rule != Self.ownRule {
            return "a channel chooses devices by castree's own rule, not by \(printable(rule))"
        }
        return nil
    }
}

extension Requirement {
    /// Required by a release with an epoch: to know that its objects are not where older castrees look.
    package static let knowingEpochs = Requirement(kind: epochs, value: "1")
    /// The kind of ``knowingEpochs``, which castree adds to every pointer that needs it.
    package static let epochs = "epochs"
}

extension [Requirement] {
    private static let countMax = 32
    private static let kindByteCountMax = 64
    private static let valueByteCountMax = 256

    /// The rule that they break; `nil` if none.
    package var problem: String? {
        if count > Self.countMax { return "there are more than \(Self.countMax) requirements" }
        var kinds: Set<String> = []
        for requirement in self {
            let kind = Array<UInt8>(requirement.kind.utf8)
            guard (1...Self.kindByteCountMax).contains(kind.count) else {
                return "the kind of a requirement has 1 to \(Self.kindByteCountMax) characters"
            }
            for byte in kind where !Self.isKindByte(byte) {
                return "\"\(printable(requirement.kind))\" cannot be the kind of a requirement: "
                    + "only letters, digits and . _ - are allowed"
            }
            if requirement.value.utf8.count > Self.valueByteCountMax {
                return "a requirement has at most \(Self.valueByteCountMax) bytes"
            }
            if !kinds.insert(requirement.kind).inserted {
                return "there are two requirements of the kind \(requirement.kind)"
            }
        }
        return nil
    }

    fileprivate var haveEpochs: Bool {
        contains { $0.kind.utf8.elementsEqual(Requirement.epochs.utf8) }
    }

    /// Why a publisher may not ask for them; `nil` if it may.
    package var problemOfOffer: String? {
        if haveEpochs {
            return "castree writes the requirement \(Requirement.epochs) itself, where it is needed"
        }
        if count >= Self.countMax { return "there are more than \(Self.countMax - 1) requirements" }
        return problem
    }

    private static func isKindByte(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
            || byte == 45 || byte == 46 || byte == 95
    }
}

/// The signature of one key in a pointer or a trust file.
package struct PointerSignature: Sendable, Hashable {
    package static let countMax = 8
    /// The size of an Ed25519 signature (RFC 8032, section 5.1.6).
    package static let byteCount = 64

    /// The id of the key (``VerificationKey/id``).
    package let key: String
    package let signature: [UInt8]

    package init(key: String, signature: [UInt8]) {
        self.key = key
        self.signature = signature
    }
}

extension [PointerSignature] {
    /// The list in its order: `[{"key":"…","signature":"…"}]`.
    package var document: JSONValue {
        .array(
            map {
                .members(["key": .string($0.key), "signature": .text(Base64.string($0.signature))])
            })
    }

    /// Reads a list of signatures, which is not empty if the field is present.
    ///
    /// Only one spelling is read, so that nothing can be added: nobody signs the signatures.
    init(_ fields: inout FieldReader) throws(PointerProblem) {
        let values = try fields.array("signatures")
        guard 1...PointerSignature.countMax ~= values.count else {
            throw .broken(
                "it has \(values.count) signatures, and 1 to \(PointerSignature.countMax) may stand there"
            )
        }
        self = []
        for (position, value) in values.enumerated() {
            let place = "signature \(position + 1)"
            var fields = try FieldReader(value, place: place)
            let key = try fields.text("key")
            guard VerificationKey.isID(key) else {
                throw .broken("\"key\" of \(place) is not 16 lower-case hexadecimal digits")
            }
            guard let signature = Base64.bytes(try fields.text("signature")),
                signature.count == PointerSignature.byteCount
            else { throw .broken("\(place) is not 64 bytes in base64") }
            guard fields.rest.isEmpty else { throw .broken("\(place) has other fields") }
            if let before = last, before.key >= key {
                throw .broken("\(place) is not sorted by key, each key once")
            }
            append(PointerSignature(key: key, signature: signature))
        }
    }
}

/// The signatures of a pointer of any format, and the bytes that they sign.
package struct SignedBytes: Sendable {
    package let origin: String?
    package let signedBytes: [UInt8]
    package let signatures: [PointerSignature]
}

extension SignedBytes {
    /// Reads the seal of a pointer that may be newer than this castree; `nil` if there is none.
    package init?(_ pointer: JSONValue) {
        guard let members = pointer.asObject else { return nil }
        var fields = FieldReader(members, place: "the pointer")
        // Missing signatures, or those in another spelling, prove nothing.
        guard let signatures = try? [PointerSignature](&fields) else { return nil }
        self.init(
            origin: pointer["origin"]?.asString,
            signedBytes: ChannelPointer.signedBytes(of: .object(fields.rest)),
            signatures: signatures)
    }
}
