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
    mutating func accept(_ pointer: ChannelPointer) {
        id = id ?? pointer.origin
        let channel = pointer.channel.description
        sequences[channel] = max(sequences[channel] ?? 0, pointer.sequence)
        latest = max(latest, pointer.createdAt)
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
    /// - Parameter now: what the clock says.
    func expired(_ now: Int64) -> Int64? {
        expiresAt.flatMap { max(now, latest) > $0 ? $0 : nil }
    }
}
