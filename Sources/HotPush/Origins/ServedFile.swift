package import CASStore

/// A file of an origin that devices may ask a server for; all others are the publisher's own.
package struct ServedFile: Sendable, Hashable {
    /// Its path in the origin.
    package let path: String
    /// What never changes about it.
    package let identity: Identity
    /// The epoch in which it stands: above 0 only in a bucket, and in a copy of one.
    package let epoch: Int64

    /// What never changes about a file.
    package enum Identity: Sendable, Hashable {
        /// It is named by the SHA-256 of its bytes.
        case addressed(ObjectID)
        /// Its bytes never change, and it has another name.
        case constant
        /// Nothing: a pointer, or what lists them.
        case changing
    }

    /// Whether its bytes are JSON; otherwise they are content.
    package var isDocument: Bool { path.hasSuffix(OriginLayout.suffix) }

    /// The file that a path leads to, without a slash at its beginning; `nil` if it is no such file's.
    ///
    /// Only the one spelling of a path counts, with nothing escaped.
    package init?(_ path: String) {
        guard let epoch = OriginLayout.epoch(of: path)?.epoch,
            let identity = Self.identity(of: path, in: epoch)
        else { return nil }
        self.path = path
        self.identity = identity
        self.epoch = epoch
    }

    /// The channel whose pointer it is; `nil` for all other files.
    package var channel: ChannelName? { OriginLayout.channel(ofPointer: path) }

    private static func identity(of path: String, in epoch: Int64) -> Identity? {
        if let key = OriginKey(path: path) {
            switch key.kind {
            case .object, .pack, .delivery, .manifest: return .addressed(key.address)
            case .places: return epoch > 0 ? .addressed(key.address) : nil
            case .delta: return .constant
            case .twin, .facts, .document: return nil
            }
        }
        // What follows stands in no epoch.
        guard epoch == 0 else { return nil }
        if [OriginLayout.marker, OriginLayout.channelList].contains(path)
            || OriginLayout.channel(ofPointer: path) != nil
        {
            return .changing
        }
        return OriginLayout.isTrust(path) ? .constant : nil
    }
}
