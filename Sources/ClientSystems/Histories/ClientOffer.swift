package import HotPush
package import Platform

/// One offer of a channel as the clients of a system know it: the ids that they keep, and what is computed once.
///
/// Never changed once it is written: clients compare ids, ban them and order by them.
package struct ClientOffer: Sendable, Hashable {
    /// The release's sequence in the pointer; larger than that of every older offer.
    package var sequence: Int64
    /// What is offered; what was shipped with the app, if devices are to go back to that.
    package var target: Target
    /// When this offer was made, in milliseconds since 1970; larger than that of every older offer of the channel.
    package var createdAt: Int64
    /// When the channel first offered this content, in milliseconds since 1970.
    package var firstOfferedAt: Int64
    /// CodePush's label, such as `v1`.
    package var label: String?
    /// The id: a UUID, lower-case (hot-updater: version 7; Expo: one for each document instead).
    package var id: String?
    /// CodePush's digest of the tree: 64 lower-case hexadecimal digits.
    package var packageHash: String?
    /// The full archive, as it is composed for ever.
    package var archive: ArchiveDigest?
    /// hot-updater's `manifest.json`: SHA-256 of its bytes.
    package var manifestDigest: ObjectID?
    /// Signatures by the operator's key for the system, by what they sign: `archive`, `manifest`, `package`, or a path.
    package var signatures: [String: String] = [:]
    /// Documents written when it was published, which the server sends as they are (Expo).
    package var documents: [ClientDocument] = []

    /// What is offered.
    package enum Target: Sendable, Hashable {
        /// A version of the origin; `facts` names what its archives are made from.
        case version(PublishedVersion, facts: ObjectID)
        /// What was shipped with the app.
        case embedded
    }

    /// The version, unless clients go back to what was shipped with the app.
    package var version: PublishedVersion? {
        if case .version(let version, _) = target { version } else { nil }
    }
}

/// A composed archive.
package struct ArchiveDigest: Sendable, Hashable {
    /// The SHA-256 of its bytes.
    package var sha256: ObjectID
    /// Their number.
    package var byteCount: Int64
}

/// A document that is written when a release is published: `for/<system>/documents/<address>`.
package struct ClientDocument: Sendable, Hashable {
    /// The platform that it is for: `ios`, `android`; empty for all.
    package var platform: String
    /// The runtime version that it is for; empty, with no platform, for all.
    package var runtimeVersion: String
    /// Its id: a UUID, lower-case; for Meteor what it calls the version; empty for an order to go back.
    package var id: String
    /// The SHA-256 of its bytes.
    package var address: ObjectID
    /// Their number.
    package var byteCount: Int64
    /// Its signature in base64; `nil` if it is not signed.
    package var signature: String?
    /// The epoch in which it stands.
    package var epoch: Int64 = 0

    /// The largest that is sent.
    static let byteCountMax = OriginKey.documentByteCountMax
}
