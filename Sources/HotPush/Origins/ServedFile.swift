package import CASStore

/// A file of an origin that devices may ask a server for; all others are the publisher's own.
package struct ServedFile: Sendable, Hashable {
    package let path: String
    package let identity: Identity
    /// Above 0 only in a bucket, and in a copy of one.
    package let epoch: Int64

    /// What never changes about a file.
    package enum Identity: Sendable, Hashable {
        /// It is named by the SHA-256 of its bytes.
        case addressed(ObjectID)
        /// Its bytes never change, but do not name it.
        case constant
        /// Nothing: pointers and their list.
        case changing
    }

    /// Whether its bytes are JSON; otherwise they are content.
    package var isDocument: Bool { path.hasSuffix(OriginLayout.suffix) }

    /// Returns `nil` for a path of no such file; only one spelling counts, without escapes or a leading slash.
    package init?(_ path: String) {
        guard let epoch = OriginLayout.epoch(of: path)?.epoch,
            let identity = Self.identity(of: path, in: epoch)
        else { return nil }
        self.path = path
        self.identity = identity
        self.epoch = epoch
    }

    package var channel: ChannelName? { OriginLayout.channel(ofPointer: path) }

    private static func identity(of path: String, in epoch: Int64) -> Identity? {
        if let key = OriginKey(path: path) {
            switch key.kind {
            case .object, .pack, .delivery, .manifest: return .addressed(key.address)
            case .places: return epoch > 0 ? .addressed(key.address) : nil
            case .delta: return .constant
            case .deflatedCopy, .facts, .document: return nil
            }
        }
        // All other files are outside of epochs.
        guard epoch == 0 else { return nil }
        if [OriginLayout.marker, OriginLayout.channelList].contains(path)
            || OriginLayout.channel(ofPointer: path) != nil
        {
            return .changing
        }
        return OriginLayout.isTrust(path) ? .constant : nil
    }
}
