import Archives
import HotPush
import Origin
package import Platform

/// The feed of one system: announces releases to its clients and answers their requests.
///
/// Values in, values out: no clock, no file, no network.
protocol ClientFeed: SendableMetatype {
    static var system: ClientSystem { get }
    /// Whether clients take only offers later than the one they run. If so, a withdrawal offers the remaining release
    /// again.
    static var ordersByTime: Bool { get }
    /// The clients' name at the beginning of a sentence, if they identify a version by its name alone; else `nil`.
    static var namesakes: String? { get }

    // MARK: When a version is published

    /// Lists what clients cannot be told of a release; empty if they can be told everything.
    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection]
    /// Adds ids, digests and documents to an offer whose position, target and times are set.
    ///
    /// Called only if no objection refuses the release. The same release keeps the ids that clients know.
    /// - Throws: `.unsuitableRelease` if the history rules the release out.
    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError)
    /// Whether an offer has no id that clients could know it by, so they are not told of it.
    static func isIncomplete(_ offer: ClientOffer) -> Bool
    /// Whether a signer has the key that signed an offer; `nil` if the offer does not tell.
    ///
    /// A key always makes the same signature of a message (RFC 8017, section 8.2).
    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool?
    /// Names, as the end of a sentence, what in an offer does not follow from its release; `nil` if everything does.
    ///
    /// Ids, labels, times, signatures and digests of archives are not compared: the release does not determine them,
    /// or clients compare the bytes themselves.
    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String?

    // MARK: When a client asks

    /// The name of the whole archive of an offer, which identifies everything its bytes depend on; `nil` if it has
    /// none.
    static func archiveName(
        of offer: ClientOffer, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ArchiveName?
    /// Answers a request; `nil` if the path belongs to another system.
    ///
    /// Names only what the origin offers to this request, and only URLs that some feed answers.
    /// - Throws: what reading the origin throws. A malformed request gets an answer, no error.
    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer?
}

extension ClientFeed {
    static var ordersByTime: Bool { false }
    static var namesakes: String? { nil }

    static func objections(to release: ClientRelease) throws(StoreError) -> [ClientObjection] { [] }

    static func complete(
        _ prepared: inout PreparedClientOffer, of release: ClientRelease,
        after history: ClientHistory, signer: (any ClientSigner)?
    ) throws(StoreError) {}

    static func isIncomplete(_ offer: ClientOffer) -> Bool { false }

    static func isSigned(
        _ offer: ClientOffer, by signer: any ClientSigner, reading documents: ClientDocumentReading
    ) throws(StoreError) -> Bool? { nil }

    static func forgery(
        in offer: ClientOffer, of release: ClientRelease, reading documents: ClientDocumentReading
    ) throws(StoreError) -> String? { nil }

    static func archiveName(
        of offer: ClientOffer, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ArchiveName? {
        try offer.version.map { (version) throws(StoreError) in try ArchiveName(version.content) }
    }

    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? { nil }

    static func offer(
        _ name: ArchiveName, in channel: ClientChannel, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ClientOffer? {
        for live in channel.live where live.offer.content == name.content {
            if try archiveName(of: live.offer, configuration) == name { return live.offer }
        }
        return nil
    }

    /// Makes the offer of a release that follows those of a history.
    /// - Throws: `.unsuitableRelease` if the history rules the release out, for example the same name with other
    ///   content.
    static func offer(
        _ release: ClientRelease, after history: ClientHistory, signer: (any ClientSigner)? = nil
    ) throws(StoreError) -> PreparedClientOffer {
        var prepared = PreparedClientOffer(
            offer: try ClientOffer(beginning: release, after: history))
        if let namesakes { try release.refuseOtherContent(under: namesakes, in: history) }
        try complete(&prepared, of: release, after: history, signer: signer)
        return prepared
    }
}

typealias ClientDocumentReading = (ClientDocument) throws(StoreError) -> [UInt8]?

package struct PreparedClientOffer: Sendable {
    package var offer: ClientOffer
    var documents: [ObjectID: [UInt8]] = [:]

    mutating func add(_ document: ClientDocument, _ bytes: [UInt8]) {
        offer.documents.append(document)
        documents[document.address] = bytes
    }
}

/// Signs for a system's clients, with RSASSA-PKCS1-v1_5 and SHA-256 (RFC 8017, section 8.2).
package protocol ClientSigner: Sendable {
    /// - Throws: `.badKey`; what a key service's command reports.
    func sign(_ message: [UInt8]) throws(StoreError) -> [UInt8]
}

extension RSASigningKey: ClientSigner {}

/// A release that is about to be offered to the clients of a system.
struct ClientRelease {
    var release: ChannelRelease
    var configuration: ClientConfiguration
    /// Its files; `nil` if clients are to return to what was shipped with the app.
    var content: ClientContent?
    /// In milliseconds since 1970.
    var now: Int64
    /// The sequence of the channel's previous newest release; `nil` if it offered nothing.
    var head: Int64?
    var read: (ObjectID) throws(StoreError) -> [UInt8]
    /// The SHA-256 and size of a composed archive: reads all of it.
    var digest: (ZipArchive) throws(StoreError) -> ArchiveDigest

    /// Refuses a version whose name clients know with other content, because they would take it for the one they
    /// have.
    /// - Parameter clients: their name at the beginning of the message.
    /// - Throws: `.unsuitableRelease`.
    func refuseOtherContent(
        under clients: String, in history: ClientHistory
    ) throws(StoreError) {
        guard let version = release.version else { return }
        let isTaken = history.offers.contains { offer in
            offer.version.map { $0.name == version.name && $0.content != version.content } ?? false
        }
        guard isTaken else { return }
        throw StoreError(
            .unsuitableRelease,
            "\(clients) know a version by its name alone, and \(version.name) was offered with other files: publish these "
                + "under another name")
    }
}

extension [Requirement] {
    /// The requirements in a sentence: `group testers, fingerprint 12`.
    var listed: String { map { "\($0.kind) \(printable($0.value))" }.joined(separator: ", ") }
}
