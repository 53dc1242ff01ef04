package import HotPush
package import Platform

/// One offer of a channel as the clients of a system know it: the ids that they keep, and what is computed once.
///
/// Never changed after it is written: clients compare ids, ban them and order by them.
package struct ClientOffer: Sendable, Hashable {
    /// The release's sequence in the pointer; larger than that of every older offer.
    package var sequence: Int64
    package var target: Target
    /// When this offer was made, in milliseconds since 1970; larger than that of every older offer of the channel.
    package var createdAt: Int64
    /// When the channel first offered this content, in milliseconds since 1970.
    package var firstOfferedAt: Int64
    /// CodePush's label, such as `v1`.
    package var label: String?
    /// A lower-case UUID (hot-updater: version 7; Expo: one for each document instead).
    package var id: String?
    /// CodePush's digest of the tree: 64 lower-case hexadecimal digits.
    package var packageHash: String?
    /// The full archive, which is always composed the same way.
    package var archive: ArchiveDigest?
    /// SHA-256 of hot-updater's `manifest.json`.
    package var manifestDigest: ObjectID?
    /// Signatures by the operator's key for the system, by what they sign: `archive`, `manifest`, `package`, or a
    /// path.
    package var signatures: [String: String] = [:]
    /// Documents written when it was published, which the server sends unchanged (Expo).
    package var documents: [ClientDocument] = []

    package enum Target: Sendable, Hashable {
        /// A version of the origin; `facts` names what its archives are made from.
        case version(PublishedVersion, facts: ObjectID)
        case embedded
    }

    package var version: PublishedVersion? {
        if case .version(let version, _) = target { version } else { nil }
    }
}

package struct ArchiveDigest: Sendable, Hashable {
    package var sha256: ObjectID
    package var byteCount: Int64
}

/// A document that is written when a release is published: `for/<system>/documents/<address>`.
package struct ClientDocument: Sendable, Hashable {
    /// `ios`, `android`; empty for all.
    package var platform: String
    /// Empty, with no platform, for all.
    package var runtimeVersion: String
    /// A lower-case UUID; for Meteor its name of the version; empty for an order to roll back.
    package var id: String
    package var address: ObjectID
    package var byteCount: Int64
    /// In Base64; `nil` if it is not signed.
    package var signature: String?
    package var epoch: Int64 = 0

    static let byteCountMax = OriginKey.documentByteCountMax

    /// The error if an origin does not have what it offers by the document.
    func loss(_ system: ClientSystem) -> StoreError {
        StoreError(
            .damagedOrigin,
            "the origin has lost a document of \(system.rawValue); castree fsck names it, and castree publish --verify "
                + "writes it again", object: address)
    }
}
