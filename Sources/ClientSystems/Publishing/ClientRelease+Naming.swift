import HotPush
package import Platform
import VersionTree

extension ClientRelease {
    /// Refuses a version whose name clients know as another content: they would take it for what they have.
    ///
    /// - Parameter clients: who, at the beginning of the message.
    /// - Throws: `.unsuitableRelease`.
    package func refuseOtherContent(
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
