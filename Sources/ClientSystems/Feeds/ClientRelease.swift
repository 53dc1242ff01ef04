import Archives
import HotPush
import Origin
import Platform

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
