package import CASStore
package import VersionTree

/// Judges a pointer by the trusted keys of an origin: values in, a value out.
///
/// The pointer names the version of the origin's trust whose keys sign it: `wanted`, 1 if it names none. The store
/// knows the version of its keys or, since somebody has named keys, only a floor (0: nothing), which no way leads
/// below.
///
/// | Version | Pointer | Outcome |
/// |---|---|---|
/// | known | `wanted` is lower | refused, whoever has signed |
/// | known | `wanted` is the same | the keys judge it |
/// | known | `wanted` is higher | each version up to it must follow from the one before; the last one's keys judge it |
/// | unknown | `wanted` is below the floor | refused |
/// | unknown | the keys have signed, `wanted` is 1 or the floor | it counts, and the keys are of that version |
/// | unknown | the keys have signed, `wanted` is higher | its keys judge it if it takes them up; else it counts |
/// | unknown | others have signed | the way leads on, as above, from the first version that takes the keys up |
///
/// A version *takes up* named keys if their threshold has signed it (and its own has), and each of them is among its
/// keys or has signed it. Otherwise a file from before the named keys, signed by an older one of them, would bring
/// back a key that was removed since. Keys named by hand are sought above the floor only, so that a removed key stays
/// removed. An app may name the keys of a version that the device has left behind; then that version has just these
/// keys.
///
/// Nothing is written. Trust files that lead to a pointer which does not count are forgotten with it.
struct PointerVerdict: Sendable, Hashable {
    /// The origin with the keys that judge; the pointer is not noted in it.
    private(set) var origin: TrustedOrigin
    /// The versions that led to these keys, in order.
    private(set) var steps: [TrustFile] = []
    private(set) var signers: [String] = []
    /// Why it does not count, as the end of a sentence about it; `nil` if it does.
    private(set) var objection: String?

    /// How many files at either end of the versions are examined to find that of named keys.
    static let soughtCountMax: Int64 = 8

    /// - Parameter read: reads a version of the origin's trust; `.untrusted` if it is missing.
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
        // Anybody with a key that still counts could sign versions without end.
        guard last - first < TrustFile.followedMax else {
            throw .untrusted(
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

    /// Determines the version of named keys that have signed.
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

    /// Finds the version of named keys if others have signed, and the way from it to theirs.
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
        // The holder of a key that does not count any more may have signed any sequence and time. Pointers of an
        // earlier version are refused for their version, so nothing old comes back.
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

    // What a store makes of a pointer of a trusted origin: values in, a value out.

    func trustedKeys() throws(StoreError) -> TrustedKeys {
        try TrustedKeys(keys, threshold: threshold)
    }

    /// Why a pointer does not count, as the end of a sentence about it; `nil` if it does.
    ///
    /// Its sequence and its expiry are another matter (``PointerState``).
    /// - Parameter signers: becomes the keys that have signed it.
    package func objection(
        to pointer: ChannelPointer, signers: inout [String]
    ) throws(StoreError) -> String? {
        let judgement = try trustedKeys().judge(pointer, of: id)
        if let objection = judgement.objection { return objection }
        let version = pointer.trustVersion ?? TrustFile.firstVersion
        let known = self.version ?? floor
        if version < known {
            return
                "it goes back to version \(version) of the origin's trust, and version \(known) is known; if the origin "
                + "itself offers this, its publisher puts \(OriginLayout.trust(known)) back from a copy (castree fsck "
                + "ORIGIN --repair --from COPY), then signs by it (castree resign ORIGIN --adopt)"
        }
        signers = judgement.signers
        return nil
    }

    /// Remembers a pointer that counts; a verdict says of which version the keys are.
    ///
    /// A sequence or time out of bounds is used but not remembered, and is forgotten if castree 0.1 has remembered
    /// it. One pointer signed with a stolen key, or by a wrong clock, must not end all updates.
    /// - Parameters:
    ///   - grace: for how many seconds after its expiry the pointer may be obeyed.
    ///   - allows: whether a number may be remembered (``SequenceBound``).
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

    /// Forgets what should never have been remembered of a channel.
    private mutating func keepMemory(
        of channel: String, within allows: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if let sequence = sequences[channel], try !allows(sequence) { sequences[channel] = nil }
        if try !allows(latest) { latest = 0 }
    }

    /// What a device remembers of a channel within the bounds; see ``accept(_:grace:within:)``.
    package func bounded(
        _ channel: ChannelName, within allows: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) -> TrustedOrigin {
        var origin = self
        try origin.keepMemory(of: channel.description, within: allows)
        return origin
    }
}

/// What a store makes of a channel's pointer.
struct PointerState: Sendable, Hashable {
    /// The trusted keys that have signed it; empty if the store does not require signatures.
    var signers: [String] = []
    /// A higher sequence that was verified before; `nil` for none.
    var newer: Int64?
    private var expiresAt: Int64?
    /// A lower bound for the present, whatever the clock says.
    private var latest: Int64 = 0

    static let unjudged = PointerState()

    private init() {}

    init(of pointer: ChannelPointer, _ origin: TrustedOrigin, signers: [String]) {
        self.signers = signers
        let seen = origin.sequences[pointer.channel.description] ?? 0
        newer = seen > pointer.sequence ? seen : nil
        expiresAt = pointer.expiresAt
        latest = origin.latest
    }

    /// Whether the store requires signatures from there, and this pointer has them.
    var isTrusted: Bool { !signers.isEmpty }

    /// When it expired; `nil` if it has not.
    /// - Parameter grace: for how many seconds more it counts.
    func expired(_ now: Int64, grace: Int64) -> Int64? {
        expiresAt.flatMap { max(now, latest) - grace > $0 ? $0 : nil }
    }
}
