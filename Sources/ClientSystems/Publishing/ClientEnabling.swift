package import CASStore
package import HotPush
package import VersionTree

extension ClientTelling {
    /// Begins to tell the clients of a system what an origin offers, or tells them what was set anew.
    ///
    /// Makes facts, twins and offers of all that the channels of the deployments offer. Nothing is written that is
    /// there already. If it is killed, the call may be repeated.
    /// - Parameters:
    ///   - configuration: what the operator has set.
    ///   - publisher: of the origin; tells by this value.
    ///   - versions: the store in which twins are made; objects that it lacks are fetched.
    /// - Returns: what was committed, and what the channels offer then; those that exist.
    /// - Throws: `.badClients` for a configuration that breaks a rule; `.noOrigin`, `.damagedOrigin`, `.untrusted`, `.busy`,
    ///   `.outOfSpace`, `.interrupted`; what a bucket throws.
    package func enable(
        _ configuration: ClientConfiguration, by publisher: OriginPublisher,
        with versions: VersionStore? = nil
    ) throws(StoreError) -> (commit: OriginCommit, pointers: [ChannelPointer]) {
        // Nothing is made for nobody.
        if let problem = configuration.problem { throw StoreError(.badClients, problem) }
        _ = try rules(of: configuration.system)
        var publisher = publisher
        publisher.options.telling = try preparing(configuration, in: publisher.clients())
        return try publisher.beginTelling(
            of: Set(configuration.deployments.values), versions
        ) { (clients) throws(StoreError) in try clients.set(configuration) }
    }

    /// Who tells of what is about to be set.
    private func preparing(
        _ configuration: ClientConfiguration, in clients: ClientLog
    ) throws(StoreError) -> ClientTelling {
        var telling = self
        telling.pending = configuration
        var isUnknown = false
        let before = try clients.replacedConfiguration(of: configuration.system) { _ in
            isUnknown = true
        }
        if isUnknown {
            telling.renewal = .all
        } else if let before, before.folder != configuration.folder {
            telling.renewal = .all
        } else if let before, before.baseURL != configuration.baseURL {
            telling.renewal = .documents
        }
        return telling
    }

    /// Ends a system: its clients are told nothing more.
    ///
    /// What they were told stays, so that they know everything again if it is enabled once more.
    /// - Throws: `.noOrigin`; what a bucket throws.
    package func disable(
        _ system: ClientSystem, by publisher: OriginPublisher
    ) throws(StoreError) -> OriginCommit {
        try publisher.beginTelling(of: [], nil) { (clients) throws(StoreError) in
            try clients.disable(system)
        }.commit
    }

    /// Refuses systems that were named and are told nothing of a channel.
    /// - Throws: `.notOffered`.
    package func check(_ channel: ChannelName, in clients: ClientLog) throws(StoreError) {
        guard let systems else { return }
        let configurations = try clients.configurations(of: systems)
        for system in systems.sorted()
        where !configurations.contains(where: { $0.system == system && $0.tells(of: channel) }) {
            let isEnabled = configurations.contains { $0.system == system }
            throw StoreError(
                .notOffered,
                "the clients of \(system.rawValue) are told nothing of channel \(channel): castree origin enable "
                    + "\(printable(clients.path)) \(system.rawValue) \(isEnabled ? "" : "--base-url URL ")"
                    + "--deployment NAME=\(channel)")
        }
    }
}
