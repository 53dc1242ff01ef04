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
    /// - Returns: what the channels offer then; those that exist.
    /// - Throws: `.badClients` for a configuration that breaks a rule; `.noOrigin`, `.damagedOrigin`, `.untrusted`, `.busy`,
    ///   `.outOfSpace`, `.interrupted`.
    @discardableResult
    package func enable(
        _ configuration: ClientConfiguration, by publisher: Publisher
    ) throws(StoreError) -> [ChannelPointer] {
        try enable(configuration, by: publisher.engine(), with: nil).pointers
    }

    /// The same of an origin in a bucket.
    ///
    /// - Parameter versions: the store in which twins are made; objects that it lacks are fetched.
    /// - Returns: also what was committed.
    /// - Throws: also what a bucket throws.
    package func enable(
        _ configuration: ClientConfiguration, by publisher: OriginPublisher,
        with versions: VersionStore?
    ) throws(StoreError) -> (commit: OriginCommit, pointers: [ChannelPointer]) {
        try check(configuration)
        var publisher = publisher
        publisher.options.telling = try preparing(
            configuration, in: publisher.toldOrigin().origin)
        return try publisher.beginTelling(
            of: Set(configuration.deployments.values), versions
        ) { (origin) throws(StoreError) in
            _ = try ClientFiles(origin).write(configuration)
        }
    }

    /// Refuses a configuration before anything is made for nobody.
    private func check(_ configuration: ClientConfiguration) throws(StoreError) {
        if let problem = configuration.problem { throw StoreError(.badClients, problem) }
        _ = try rules(of: configuration.system)
    }

    /// Who tells of what is about to be set.
    private func preparing(
        _ configuration: ClientConfiguration, in origin: any ToldOrigin
    ) throws(StoreError) -> ClientTelling {
        var telling = self
        telling.pending = configuration
        var isUnknown = false
        let before = try ClientFiles(origin).replacedConfiguration(of: configuration.system) { _ in
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
        try publisher.beginTelling(of: [], nil) { (origin) throws(StoreError) in
            try ClientFiles(origin).removeConfiguration(of: system)
        }.commit
    }

    /// Refuses systems that were named and are told nothing of a channel.
    /// - Throws: `.notOffered`.
    package func check(_ channel: ChannelName, in origin: any ToldOrigin) throws(StoreError) {
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
