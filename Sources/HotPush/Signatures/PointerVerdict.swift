import CASStore
import VersionTree

/// What the keys that are trusted for an origin say of a pointer: values in, a value out.
///
/// The pointer says of which version of the origin's trust its keys are: `wanted`, 1 if it says none. The store knows the
/// version of its keys, or only a floor (0: nothing), since somebody has named keys. No way leads below either.
///
/// | Version | Pointer | What comes of it |
/// |---|---|---|
/// | known | `wanted` is lower | refused, whoever has signed |
/// | known | `wanted` is the same | the keys judge it |
/// | known | `wanted` is higher | each version up to it must follow from the one before; the last one's keys judge it |
/// | unknown | `wanted` is below the floor | refused |
/// | unknown | the keys have signed, `wanted` is 1 or the floor | it counts, and the keys are of that version |
/// | unknown | the keys have signed, `wanted` is higher | its keys judge it if it takes them up; else it counts |
/// | unknown | others have signed | the way leads on, as above, from the first version that takes the keys up |
///
/// A version *takes up* named keys if their threshold has signed it (and its own has), and each of them is among its keys or
/// has signed it. Otherwise a file from before the named keys, signed by one of them that is older, would bring back a key
/// that was removed since. Named by hand, keys are sought above the floor only: what somebody has taken out stays out. An
/// app may name the keys of a version that the device has left behind already: then that version's keys are just these.
///
/// Nothing is written. Files of the trust that lead to a pointer which does not count are forgotten with it.
struct PointerVerdict: Sendable, Hashable {
    /// The origin with the keys that judge; the pointer is not noted in it.
    private(set) var origin: TrustedOrigin
    /// The versions that led to these keys, in order.
    private(set) var steps: [TrustFile] = []
    /// The trusted keys that vouch for the pointer.
    private(set) var signers: [String] = []
    /// Why it does not count, as the end of a sentence about it; `nil` if it does.
    private(set) var objection: String?

    /// So many files at either end of the versions are looked at to find that of named keys.
    static let soughtCountMax: Int64 = 8

    /// - Parameter read: a version of the origin's trust; `.untrusted` if it is not there.
    /// - Throws: `.untrusted` if a version does not follow from the one before; what `read` throws.
    init(
        on pointer: ChannelPointer, of origin: TrustedOrigin,
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        self.origin = origin
        try judge(pointer)
        let wanted = pointer.trustVersion ?? TrustFile.firstVersion
        guard pointer.isSigned, let id = pointer.origin, id == origin.id ?? id,
            wanted >= origin.version ?? origin.floor
        else { return }
        if let version = origin.version {
            try follow(version + 1, through: wanted, of: id, reading: read)
        } else if objection == nil {
            try learn(wanted, of: id, reading: read)
        } else {
            try find(wanted, of: id, reading: read)
        }
        try judge(pointer)
    }

    private mutating func judge(_ pointer: ChannelPointer) throws(StoreError) {
        signers = []
        objection = try origin.objection(to: pointer, signers: &signers)
    }

    private mutating func follow(
        _ first: Int64, through last: Int64, of id: String,
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        // Whoever has a key that counts still could sign versions without end.
        guard last - first < TrustChain.versionMax else {
            throw StoreError(
                .untrusted,
                "the pointer names version \(last) of the origin's trust, and version \(first - 1) is known: so many changes of "
                    + "keys are not followed at once; \(TrustFile.remedy)")
        }
        var version = first
        while version <= last {
            try take(read(version), of: id)
            version += 1
        }
    }

    private mutating func take(_ file: TrustFile, of id: String) throws(StoreError) {
        origin = try origin.following(file, of: id)
        steps.append(file)
    }

    /// Learns which version the named keys are, which have signed.
    private mutating func learn(
        _ wanted: Int64, of id: String, reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        guard wanted > max(origin.floor, TrustFile.firstVersion) else {
            origin.version = wanted
            return
        }
        guard let file = try allowing([.untrusted], try read(wanted)),
            origin.isTakenUp(by: file)
        else { return }
        try allowing([.untrusted], try take(file, of: id))
    }

    /// Finds the version of the named keys, where others have signed, and the way from it to theirs.
    private mutating func find(
        _ wanted: Int64, of id: String, reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        let lowest = TrustFile.firstVersion + 1
        let first = origin.appKeys == nil ? max(lowest, origin.floor + 1) : lowest
        guard first <= wanted else { return }
        let near = first...min(wanted, first + Self.soughtCountMax - 1)
        let far = max(near.upperBound, wanted - Self.soughtCountMax)..<wanted
        for version in Array(near) + far.map({ $0 + 1 }) {
            let file = try read(version)
            guard version > origin.floor || Set(file.trusted.keys) == Set(origin.keys),
                origin.isTakenUp(by: file)
            else { continue }
            do throws(StoreError) {
                try take(file, of: id)
            } catch {
                guard error.code == .untrusted else { throw error }
                continue
            }
            return try follow(version + 1, through: wanted, of: id, reading: read)
        }
    }
}

extension TrustedOrigin {
    /// The origin with the keys of the next version of its trust.
    /// - Throws: `.untrusted` if that does not follow from what is trusted.
    fileprivate func following(
        _ file: TrustFile, of origin: String
    ) throws(StoreError) -> TrustedOrigin {
        try file.check(follows: trustedKeys(), version ?? file.version - 1, of: id ?? origin)
        var next = self
        next.id = file.origin
        // Who held a key that counts no more may have signed any sequence and any time. What was signed for an earlier
        // version is refused for that, so nothing old comes back.
        if !keys.allSatisfy(file.trusted.keys.contains) { next.forgetVerified() }
        next.keys = file.trusted.keys
        next.threshold = file.trusted.threshold
        next.version = file.version
        return next
    }

    /// Whether each of the keys is among a version's, or has signed it.
    fileprivate func isTakenUp(by file: TrustFile) -> Bool {
        let signedBytes = file.signedBytes
        return keys.allSatisfy { key in
            file.trusted.keys.contains(key)
                || file.signatures.contains {
                    $0.key == key.id && key.verifies($0.signature, of: signedBytes)
                }
        }
    }
}

// What a store makes of a pointer of an origin that it trusts: values in, a value out.

extension TrustedOrigin {
    /// Whose signatures count.
    func trustedKeys() throws(StoreError) -> TrustedKeys {
        try TrustedKeys(keys, threshold: threshold)
    }

    /// Why a pointer does not count, as the end of a sentence about it; `nil` if it does.
    ///
    /// Its sequence and its expiry are another matter: ``PointerStanding``.
    /// - Parameter signers: becomes the keys that vouch for it.
    func objection(
        to pointer: ChannelPointer, signers: inout [String]
    ) throws(StoreError) -> String? {
        let judgement = try trustedKeys().judge(pointer, of: id)
        if let objection = judgement.objection { return objection }
        let version = pointer.trustVersion ?? TrustFile.firstVersion
        let known = self.version ?? floor
        if version < known {
            return
                "it goes back to version \(version) of the origin's trust, and version \(known) is known"
        }
        signers = judgement.signers
        return nil
    }

    /// Remembers a pointer that counts: a verdict says of which version the keys are.
    ///
    /// A sequence or a time that nothing here allows is used and not remembered, also where castree 0.1 has remembered it:
    /// one pointer that somebody has signed with a stolen key, or by a wrong clock, must not end all updates.
    /// - Parameters:
    ///   - grace: for how many seconds after its end the pointer may be obeyed.
    ///   - allows: whether a number may be remembered: ``SequenceBound``.
    mutating func accept(
        _ pointer: ChannelPointer, grace: Int64 = 0,
        within allows: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        id = id ?? pointer.origin
        let channel = pointer.channel.description
        try keepMemory(of: channel, within: allows)
        if try allows(pointer.sequence) {
            sequences[channel] = max(sequences[channel] ?? 0, pointer.sequence)
        }
        if try allows(pointer.createdAt) { latest = max(latest, pointer.createdAt) }
        ends = pointer.expiresAt.map { [channel: $0 + grace] } ?? [:]
    }

    /// Forgets of a channel what should never have been remembered.
    private mutating func keepMemory(
        of channel: String, within allows: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if let sequence = sequences[channel], try !allows(sequence) { sequences[channel] = nil }
        if try !allows(latest) { latest = 0 }
    }

    /// What a device that keeps to a bound remembers of a channel: see ``accept(_:grace:within:)``.
    func bounded(
        _ channel: ChannelName, within allows: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) -> TrustedOrigin {
        var origin = self
        try origin.keepMemory(of: channel.description, within: allows)
        return origin
    }
}

/// What a store makes of a channel's pointer that has come.
struct PointerStanding: Sendable, Hashable {
    /// The trusted keys that have signed it; empty where the store takes what comes.
    var signers: [String] = []
    /// The higher sequence that was verified before; `nil` if there is none.
    var newer: Int64?
    /// Until when it may be obeyed; `nil` for ever.
    private var expiresAt: Int64?
    /// It is later than this, whatever the clock says.
    private var latest: Int64 = 0

    /// Of a pointer that nobody holds against anything.
    static let unjudged = PointerStanding()

    private init() {}

    /// Of a pointer that counts.
    init(of pointer: ChannelPointer, _ origin: TrustedOrigin, signers: [String]) {
        self.signers = signers
        let seen = origin.sequences[pointer.channel.description] ?? 0
        newer = seen > pointer.sequence ? seen : nil
        expiresAt = pointer.expiresAt
        latest = origin.latest
    }

    /// Whether the store takes only what is signed from there, and this is.
    var isTrusted: Bool { !signers.isEmpty }

    /// When it expired; `nil` if it has not.
    /// - Parameters:
    ///   - now: what the clock says.
    ///   - grace: for how many seconds more it counts.
    func expired(_ now: Int64, grace: Int64) -> Int64? {
        expiresAt.flatMap { max(now, latest) - grace > $0 ? $0 : nil }
    }
}
