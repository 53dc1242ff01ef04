package import Archives
package import HotPush
package import Platform

/// What a system's clients cannot be told of a release.
package struct ClientObjection: Sendable, Hashable {
    /// Whether the release is not offered to this system at all; otherwise something is lost.
    package var refuses: Bool
    /// What it is, on what, and what to do.
    package var message: String

    /// Makes one.
    package init(refuses: Bool, _ message: String) {
        self.refuses = refuses
        self.message = message
    }
}

/// A release that is about to be offered.
package struct ClientRelease {
    /// As the pointer will list it, with its sequence.
    package var release: OfferedRelease
    /// The sequence of what the channel offered first before; `nil` if it offered nothing.
    package var head: Int64?
    /// Its files; `nil` if clients are to go back to what was shipped with the app.
    package var content: ClientContent?
    /// The address of the facts; `nil` as above.
    package var facts: ObjectID?
    /// Now, in milliseconds since 1970.
    package var now: Int64
    /// Reads an object of the release.
    package var read: (ObjectID) throws(StoreError) -> [UInt8]
    /// The SHA-256 and size of a composed archive: reads all of it.
    package var digest: (ZipArchive) throws(StoreError) -> ArchiveDigest

    /// Makes one.
    package init(
        release: OfferedRelease, content: ClientContent?, facts: ObjectID?, now: Int64,
        read: @escaping (ObjectID) throws(StoreError) -> [UInt8],
        digest: @escaping (ZipArchive) throws(StoreError) -> ArchiveDigest
    ) {
        self.release = release
        self.content = content
        self.facts = facts
        self.now = now
        self.read = read
        self.digest = digest
    }
}

/// An offer with the documents that must stand before it is written.
package struct PreparedClientOffer: Sendable {
    /// The offer.
    package var offer: ClientOffer
    /// The bytes of its documents, by their address.
    package var documents: [ObjectID: [UInt8]]

    /// Makes one.
    package init(_ offer: ClientOffer, documents: [ObjectID: [UInt8]] = [:]) {
        self.offer = offer
        self.documents = documents
    }
}

/// Signs for a system's clients, with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017, section 8.2).
package protocol ClientSigner: Sendable {
    /// The signature of a message.
    /// - Throws: `.badKey`; what a key service's command says.
    func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8]
}

/// Makes the offers of one system when a version is published.
package protocol ClientPublishing: SendableMetatype {
    /// The system.
    static var system: ClientSystem { get }
    /// Whether clients take only what was offered later than what they run: then what a withdrawal leaves is offered
    /// again, later. By default they do not.
    static var ordersByTime: Bool { get }
    /// What the system cannot express of a release; empty if it is told whole.
    static func objections(
        to release: ClientRelease, _ configuration: ClientConfiguration
    ) throws(StoreError) -> [ClientObjection]
    /// The offer of a release, after those that the history has.
    ///
    /// Called only if nothing refuses it. The same release again gives the ids that clients know.
    static func offer(
        _ release: ClientRelease, after history: ClientHistory,
        _ configuration: ClientConfiguration, signer: (any ClientSigner)?
    ) throws(StoreError) -> PreparedClientOffer
    /// Whether an offer of a version lacks what its clients know it by, so that they are told nothing of it; by default none
    /// does.
    static func isIncomplete(_ offer: ClientOffer) -> Bool
    /// Whether a signer has the key that signed an offer; `nil` if nothing tells.
    ///
    /// The signatures of one key for one message are always the same (RFC 8017, section 8.2).
    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool?
    /// What an offer says that does not follow from its release, as the end of a sentence.
    ///
    /// `nil` if all that can be made again from the release is the same.
    /// Ids, labels and times are not, nor are signatures and the digests of archives, whose bytes clients compare
    /// themselves. By default there is nothing else.
    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String?
}

/// The bytes of a document of an offer; `nil` if it is not there.
package typealias ClientDocumentReading = (ClientDocument) throws(StoreError) -> [UInt8]?

extension ClientPublishing {
    package static var ordersByTime: Bool { false }

    package static func isIncomplete(_ offer: ClientOffer) -> Bool { false }

    package static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? { nil }

    package static func forgery(
        in offer: ClientOffer, of release: ClientRelease, _ configuration: ClientConfiguration,
        reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? { nil }
}
