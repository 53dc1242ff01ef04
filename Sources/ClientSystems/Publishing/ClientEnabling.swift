package import CASStore
package import HotPush

extension ClientTelling {
    /// Begins to tell the clients of a system what an origin offers, or tells them what was set anew.
    ///
    /// Makes facts, twins and offers of all that the channels of the deployments offer. Nothing is written that is there
    /// already. If it is killed, the call may be repeated.
    /// - Parameters:
    ///   - configuration: what the operator has set.
    ///   - publisher: of the origin; tells by this value.
    /// - Returns: what the channels offer then; those that exist.
    /// - Throws: `.badClients` for a configuration that breaks a rule; `.noOrigin`, `.damagedOrigin`, `.untrusted`, `.busy`,
    ///   `.outOfSpace`, `.interrupted`.
    @discardableResult
    package func enable(
        _ configuration: ClientConfiguration, by publisher: Publisher
    ) throws(StoreError) -> [ChannelPointer] {
        if let problem = configuration.problem { throw StoreError(.badClients, problem) }
        // Before anything is made for nobody.
        _ = try rules(of: configuration.system)
        let before = try ClientFiles(DirectoryOrigin(publisher.path).place)
            .configuration(of: configuration.system)
        var (publisher, telling) = (publisher, self)
        telling.pending = configuration
        if let before, before.folder != configuration.folder {
            telling.renewal = .all
        } else if let before, before.baseURL != configuration.baseURL {
            telling.renewal = .documents
        }
        publisher.options.telling = telling
        return try publisher.beginTelling(of: Set(configuration.deployments.values)) {
            (origin) throws(StoreError) in
            try ClientFiles(origin).write(configuration)
        }
    }

    /// Ends a system: its clients are told nothing more.
    ///
    /// What they were told stays, so that they know everything again if it is enabled once more.
    package func disable(_ system: ClientSystem, by publisher: Publisher) throws(StoreError) {
        try publisher.beginTelling(of: []) { (origin) throws(StoreError) in
            try ClientFiles(origin).removeConfiguration(of: system)
        }
    }

    /// Refuses systems that were named and are told nothing of a channel.
    /// - Throws: `.notOffered`.
    package func check(_ channel: ChannelName, in origin: OriginPlace) throws(StoreError) {
        guard let systems else { return }
        let configurations = try ClientFiles(origin).configurations(of: systems)
        for system in systems.sorted()
        where !configurations.contains(where: { $0.system == system && $0.tells(of: channel) }) {
            let isEnabled = configurations.contains { $0.system == system }
            throw StoreError(
                .notOffered,
                "the clients of \(system.rawValue) are told nothing of channel \(channel): castree origin enable "
                    + "\(printable(origin.path)) \(system.rawValue) \(isEnabled ? "" : "--base-url URL ")"
                    + "--deployment NAME=\(channel)")
        }
    }
}
