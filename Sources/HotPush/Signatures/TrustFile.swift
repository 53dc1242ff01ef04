package import CASStore
package import StrictJSON

/// Whose signatures count from a version of an origin's trust on: the file `trust/<version>.json`, which never changes.
///
/// Before the first rotation there is none: the keys that devices were given are version 1. Each later version is signed by
/// the threshold of the one before it and by its own, so whoever trusts one version can follow to the next, and nobody
/// else can make one.
package struct TrustFile: Sendable, Hashable {
    /// The version of the format.
    package static let formatVersion: Int64 = 1
    /// The largest file that is read, in bytes.
    package static let byteCountMax = 64 * 1024
    /// The version that no file says: that of keys which a device was given.
    package static let firstVersion: Int64 = 1
    /// The versions that there can be.
    package static let versions = firstVersion...ChannelPointer.sequenceMax
    /// What brings back one that is lost or damaged.
    package static let remedy =
        "its publisher puts it back from a copy of the origin (castree fsck ORIGIN --repair --from COPY)"

    /// The id of the origin.
    package var origin: String
    /// From 2 on.
    package var version: Int64
    /// The keys and the threshold.
    package var trusted: TrustedKeys
    /// When it was made, in seconds since 1970; for people.
    package var createdAt: Int64
    /// Sorted by key, each key once.
    package var signatures: [PointerSignature] = []
    /// Fields that castree does not know, kept as they came.
    package var foreign: [JSONValue.Member] = []

    package init(origin: String, version: Int64, trusted: TrustedKeys, createdAt: Int64) {
        self.origin = origin
        self.version = version
        self.trusted = trusted
        self.createdAt = createdAt
    }

    /// What the signed bytes begin with.
    private static let signedPrefix = Array("castree-trust 1\n".utf8)

    /// The bytes that its signatures sign.
    package var signedBytes: [UInt8] {
        var unsigned = self
        unsigned.signatures = []
        return Self.signedPrefix + JSONWriter.serialize(unsigned.document, sortedKeys: true)
    }

    /// Whether it follows a version of the trust: signed by the threshold of that, and by its own.
    /// - Parameter origin: the id of the origin that is meant.
    /// - Throws: `.untrusted` with what is wrong.
    package func check(
        follows previous: TrustedKeys, _ previousVersion: Int64, of origin: String
    ) throws(StoreError) {
        guard self.origin == origin else { throw refusal("it belongs to another origin") }
        guard version == previousVersion + 1 else {
            throw refusal("it does not follow version \(previousVersion)")
        }
        let signedBytes = signedBytes
        for (keys, whose) in [(previous, "the version before it"), (trusted, "its own")] {
            let signers = keys.signers(of: signedBytes, signatures)
            guard signers.count >= keys.threshold else {
                throw refusal(
                    "\(signers.count) of the keys of \(whose) have signed it, and \(keys.threshold) must"
                )
            }
        }
    }

    /// A version that is read; `nil` for a file that is no version of a trust: no device follows that, so it is in nobody's way.
    static func ifSound(
        _ read: () throws(StoreError) -> TrustFile?
    ) throws(StoreError) -> TrustFile? {
        try StoreError.ignoring(.untrusted, .tooLarge, by: read)
    }

    private func refusal(_ problem: String) -> StoreError {
        StoreError(
            .untrusted, "\(OriginLayout.trust(version)) of the origin is refused: \(problem)")
    }
}
