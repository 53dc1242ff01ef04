import CASStore
import VersionTree

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
        guard case .vouched(let keys) = judgement else { return judgement.objection }
        let version = pointer.trustVersion ?? TrustFile.firstVersion
        let known = self.version ?? floor
        if version < known {
            return
                "it goes back to version \(version) of the origin's trust, and version \(known) is known"
        }
        signers = keys
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
