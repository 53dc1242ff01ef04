import HotPush
import Platform

extension ClientOrigin {
    /// The newest offer of a content in the channels of a system, of those that deciders may name or have named.
    ///
    /// - Parameter isLive: whether a pointer must still list it. Else a client may end what it began before the pointer
    ///   changed, as long as the origin holds the content.
    func offer(
        of content: ObjectID, isLive: Bool, _ configuration: ClientConfiguration
    ) throws(StoreError) -> ClientOffer? {
        for name in Set(configuration.deployments.values).sorted(by: {
            $0.description < $1.description
        }) {
            guard let channel = try channel(name, for: configuration.system) else { continue }
            if let found = channel.offer(of: content, isLive: isLive) { return found }
        }
        return nil
    }
}

extension ClientChannel {
    /// The newest offer of a content, as ``ClientOrigin/offer(of:isLive:_:)`` finds it.
    func offer(of content: ObjectID, isLive: Bool) -> ClientOffer? {
        isLive
            ? live.first { $0.offer.version?.content == content }?.offer
            : past.last { $0.version?.content == content }
    }
}

extension ClientConfiguration {
    /// Where clients get an object: the file of the origin itself.
    func objectURL(_ address: ObjectID) -> String {
        "\(baseURL)/\(OriginLayout.object(address))"
    }
}
