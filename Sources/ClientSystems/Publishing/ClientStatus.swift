package import CASStore
package import HotPush

/// What an origin tells the clients of one system.
package struct ClientStatus: Sendable {
    /// What the operator has set.
    package var configuration: ClientConfiguration
    /// What each channel of a deployment tells, sorted by name.
    package var channels: [Channel] = []

    /// What a channel tells.
    package struct Channel: Sendable {
        /// Its name.
        package var name: ChannelName
        /// Whether anything was ever published to it.
        package var isThere = false
        /// How many offers the history lists.
        package var offerCount = 0
        /// What is offered now, newest first, and by which ids; `nil` for a release that is not offered to these clients.
        package var live: [(release: OfferedRelease, offer: ClientOffer?)] = []
    }

    /// Of all systems that are enabled in an origin, or of one.
    /// - Throws: `.badClients`, `.badPointer`; what reading throws.
    package static func all(
        of only: ClientSystem? = nil, in origin: DirectoryOrigin
    ) throws(StoreError) -> [ClientStatus] {
        let files = ClientFiles(origin.place)
        var statuses: [ClientStatus] = []
        for configuration in try files.configurations()
        where only.map({ $0 == configuration.system }) ?? true {
            var status = ClientStatus(configuration: configuration)
            for name in Set(configuration.deployments.values).sorted() {
                status.channels.append(
                    try channel(name, configuration.system, files, origin))
            }
            statuses.append(status)
        }
        return statuses
    }

    private static func channel(
        _ name: ChannelName, _ system: ClientSystem, _ files: ClientFiles,
        _ origin: DirectoryOrigin
    ) throws(StoreError) -> Channel {
        var channel = Channel(name: name)
        guard let pointer = try origin.pointer(name) else { return channel }
        channel.isThere = true
        let history = try files.history(of: name, system) ?? ClientHistory(system, name)
        channel.offerCount = history.offers.count
        let live = ClientChannel(pointer, history).live
        channel.live = pointer.releases.map { release in
            (release, live.first { $0.release.sequence == release.sequence }?.offer)
        }
        return channel
    }
}
