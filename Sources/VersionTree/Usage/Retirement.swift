public import CASStore

/// What retiring a set of versions would free, once collected.
public struct Retirement: Sendable, Hashable {
    /// A version that cannot be retired now, and why.
    public struct Refusal: Sendable, Hashable {
        /// The version.
        public var version: String
        /// Why not: "it is the current version".
        public var reason: String
    }

    /// The versions, newest first.
    public var versions: [String]
    /// How many objects only they name.
    public var objects: Int
    /// What those hold: what comes back.
    public var bytes: Int64
    /// The sum of what retiring each of them alone would free.
    ///
    /// What they share with each other and with nobody else comes on top of it.
    public var separateBytes: Int64
    /// Those that cannot be retired now.
    public var refused: [Refusal]
}

extension VersionStore {
    /// What retiring versions together would free.
    ///
    /// Changes nothing. Other versions may keep what two of them share, so the answer is no sum of
    /// their unique bytes.
    /// - Throws: `.noVersion`.
    public func retirement(of names: [String]) throws(StoreError) -> Retirement {
        try retirement(of: names, store.usageTable())
    }

    func retirement(of names: [String], _ table: UsageTable) throws(StoreError) -> Retirement {
        let chosen = try Self.positions(of: names, in: table)
        let freed = table.freed(retiring: chosen)
        let lifecycle = try lifecycle()
        // Takes no dead pin away: without the lock of the lifecycle it might be one that is being made.
        let pins = try pinnedVersions()
        var refused: [Retirement.Refusal] = []
        for place in chosen {
            let version = table.versions[place].name
            let pinned = pins.contains(version) ? "a server still shows it to a page" : nil
            if let reason = try need(of: version, lifecycle) ?? pinned {
                refused.append(Retirement.Refusal(version: version, reason: reason))
            }
        }
        return Retirement(
            versions: chosen.map { table.versions[$0].name }, objects: freed.objects,
            bytes: freed.bytes,
            separateBytes: chosen.reduce(0) { $0 + table.versions[$1].uniqueByteCount },
            refused: refused)
    }

    /// The versions that the lifecycle needs.
    func kept(_ lifecycle: Lifecycle) throws(StoreError) -> [Retirement.Refusal] {
        var names: [String] = []
        let needed = [lifecycle.current, lifecycle.pending, lifecycle.embedded]
        for name in needed.compactMap(\.self) + lifecycle.knownGood where !names.contains(name) {
            names.append(name)
        }
        var result: [Retirement.Refusal] = []
        for name in names {
            guard let reason = try need(of: name, lifecycle) else { continue }
            result.append(Retirement.Refusal(version: name, reason: reason))
        }
        return result
    }

    private func need(of version: String, _ lifecycle: Lifecycle) throws(StoreError) -> String? {
        if let need = lifecycle.need(of: version) { return need }
        return try isLastKnownGood(version, lifecycle) ? "it is the last known good version" : nil
    }
}
