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
        guard let (epoch, plain) = OriginLayout.epoch(of: path),
            let identity = Self.identity(of: plain, in: epoch)
        else { return nil }
        self.path = path
        self.identity = identity
        self.epoch = epoch
    }

    /// The channel whose pointer it is; `nil` for all other files.
    package var channel: ChannelName? { OriginLayout.channel(ofPointer: path) }

    private static func identity(of path: String, in epoch: Int64) -> Identity? {
        if epoch == 0, [OriginLayout.marker, OriginLayout.channelList].contains(path) {
            return .changing
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        switch (parts[0], parts.count) {
        case (OriginLayout.objects, 3):
            return addressed(ObjectID(parts[1] + parts[2])) { OriginLayout.object($0) == path }
        case (OriginLayout.packs, 3):
            return addressed(ObjectID(parts[1] + parts[2])) { OriginLayout.pack($0) == path }
        case (OriginLayout.deliveries, 2):
            return addressed(OriginLayout.address(ofManifestFile: parts[1])) { _ in true }
        case (OriginLayout.manifests, 2):
            if OriginLayout.delta(ofFile: parts[1]) != nil { return .constant }
            return addressed(OriginLayout.address(ofManifestFile: parts[1])) { _ in true }
        case (OriginLayout.places, 2) where epoch > 0:
            return addressed(OriginLayout.address(ofManifestFile: parts[1])) { _ in true }
        // What follows stands in no epoch.
        case _ where epoch > 0: return nil
        case (OriginLayout.trust, 2): return OriginLayout.isTrust(path) ? .constant : nil
        case (OriginLayout.channels, 2):
            return OriginLayout.channel(ofPointer: path) == nil ? nil : .changing
        default: return nil
        }
    }

    private static func addressed(
        _ address: ObjectID?, _ isSpelled: (ObjectID) -> Bool
    ) -> Identity? {
        guard let address, isSpelled(address) else { return nil }
        return .addressed(address)
    }
}
