package import CASStore
package import HotPush
package import Origin
package import VersionTree

extension ClientAnnouncing {
    /// Enables a system for an origin, or applies new settings to an enabled one.
    ///
    /// Makes facts, deflated copies and offers for all that the channels of the deployments offer. Writes nothing
    /// that exists already. If it is killed, the call may be repeated.
    /// - Parameters:
    ///   - publisher: announces by this value.
    ///   - versions: the store in which deflated copies are made; objects that it does not have are fetched.
    /// - Returns: what was committed, and what the channels that exist now offer.
    /// - Throws: `.badClients` for a configuration that breaks a rule; `.noOrigin`, `.damagedOrigin`, `.untrusted`,
    ///   `.busy`, `.outOfSpace`, `.interrupted`; what a bucket throws.
    package func enable(
        _ configuration: ClientConfiguration, by publisher: OriginPublisher,
        with versions: VersionStore? = nil
    ) throws(StoreError) -> (commit: OriginCommit, pointers: [ChannelPointer]) {
        // Check the settings before anything is made for them.
        if let problem = configuration.problem { throw StoreError(.badClients, problem) }
        _ = try rules(of: configuration.system)
        var publisher = publisher
        publisher.options.announcing = try preparing(configuration, in: publisher.clients())
        return try publisher.beginAnnouncing(
            of: Set(configuration.deployments.values), versions
        ) { (clients) throws(StoreError) in try clients.set(configuration) }
    }

    private func preparing(
        _ configuration: ClientConfiguration, in clients: ClientLog
    ) throws(StoreError) -> ClientAnnouncing {
        var announcing = self
        announcing.pending = configuration
        var isUnknown = false
        let before = try clients.replacedConfiguration(of: configuration.system) { _ in
            isUnknown = true
        }
        if isUnknown {
            announcing.renewal = .all
        } else if let before, before.folder != configuration.folder {
            announcing.renewal = .all
        } else if let before, before.baseURL != configuration.baseURL {
            announcing.renewal = .documents
        }
        return announcing
    }

    /// Disables a system: nothing more is announced to its clients.
    ///
    /// Its histories stay, so that the system resumes if it is enabled again.
    /// - Throws: `.noOrigin`; what a bucket throws.
    package func disable(
        _ system: ClientSystem, by publisher: OriginPublisher
    ) throws(StoreError) -> OriginCommit {
        try publisher.beginAnnouncing(of: [], nil) { (clients) throws(StoreError) in
            try clients.disable(system)
        }.commit
    }

    /// Refuses systems that were named but have no deployment for a channel.
    /// - Throws: `.notOffered`.
    package func check(_ channel: ChannelName, in clients: ClientLog) throws(StoreError) {
        guard let systems else { return }
        let configurations = try clients.configurations(of: systems)
        for system in systems.sorted()
        where !configurations.contains(where: { $0.system == system && $0.announces(of: channel) })
        {
            let isEnabled = configurations.contains { $0.system == system }
            throw StoreError(
                .notOffered,
                "the clients of \(system.rawValue) are told nothing of channel \(channel): castree origin enable "
                    + "\(printable(clients.path)) \(system.rawValue) \(isEnabled ? "" : "--base-url URL ")"
                    + "--deployment NAME=\(channel)")
        }
    }
}
