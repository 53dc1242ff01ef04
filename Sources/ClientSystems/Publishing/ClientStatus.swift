package import CASStore
package import HotPush
package import Origin

/// What an origin announces to the clients of one system.
package struct ClientStatus: Sendable {
    package var system: ClientSystem
    package var configuration: ClientConfiguration?
    /// Damage that leaves some of the clients without answers.
    package var problems: [StoreError] = []
    package var channels: [Channel] = []

    package struct Channel: Sendable {
        package var name: ChannelName
        package var isThere = false
        package var offerCount = 0
        /// The releases on offer, newest first; the offer is `nil` for a release that these clients do not get.
        package var live: [(release: ChannelRelease, offer: ClientOffer?)] = []
    }

    /// The status of all enabled systems, or of one; damage is reported with its system.
    package static func all(
        of only: ClientSystem? = nil, in clients: ClientLog
    ) throws(StoreError) -> [ClientStatus] {
        var statuses: [ClientStatus] = []
        let configurations = try clients.configurations(of: only.map { [$0] }) { system, error in
            statuses.append(ClientStatus(system: system, problems: [error]))
        }
        for configuration in configurations {
            var status = ClientStatus(system: configuration.system, configuration: configuration)
            for name in Set(configuration.deployments.values).sorted() {
                do throws(StoreError) {
                    let channel = try channel(name, status.system, clients)
                    status.channels.append(channel)
                    for (release, offer) in channel.live {
                        guard let offer else { continue }
                        try clients.checkContent(of: release)
                        for document in offer.documents
                        where try !clients.has(document, of: status.system) {
                            throw document.loss(status.system)
                        }
                    }
                } catch {
                    guard error.isOfClients else { throw error }
                    status.problems.append(error)
                }
            }
            statuses.append(status)
        }
        return statuses.sorted { $0.system < $1.system }
    }

    private static func channel(
        _ name: ChannelName, _ system: ClientSystem, _ clients: ClientLog
    ) throws(StoreError) -> Channel {
        var channel = Channel(name: name)
        guard let pointer = clients.pointers[name] else { return channel }
        channel.isThere = true
        let history = try clients.history(of: name, system)
        channel.offerCount = history.offers.count
        let live = ClientChannel(pointer, history).live
        channel.live = pointer.releases.map { release in
            (release, live.first { $0.release.sequence == release.sequence }?.offer)
        }
        return channel
    }
}
