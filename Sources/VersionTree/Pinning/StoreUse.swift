package import CASStore

/// What a process does with a store at this moment.
package struct StoreUse: Sendable, Hashable {
    /// How a store is used.
    package enum Kind: String, Sendable, Hashable {
        /// A version is kept for who sees it.
        case shows
        /// A release is fetched.
        case fetches
        /// A start is watched until it is confirmed or left.
        case watches
        /// Something is written: an import, a download, a repair.
        case writes
    }

    /// What it does.
    package var kind: Kind
    /// The version concerned.
    package var version: String?
    /// The process, as far as the kernel tells.
    package var holder: LockHolder
}

extension VersionStore {
    /// The processes that use the store for longer than a moment, sorted by version.
    ///
    /// Takes no lock but those that tell whether a pin is held. A process in another container may be
    /// unknown, and a use that only it has unseen.
    package func uses() throws(StoreError) -> [StoreUse] {
        var uses: Set<StoreUse> = []
        for name in try fileSystem.names(in: directories.leases.raw) {
            guard let (kind, version) = Self.use(of: name) else { continue }
            // The pin of a server that was killed stays behind, unlocked.
            var isShown = false
            if kind == .shows { isShown = try isHeld(name) }
            if kind == .shows, !isShown { continue }
            // A lock that has ended since is not in use.
            guard let file = try fileSystem.status(directories.leases.raw, name) else { continue }
            let holder = LockHolder.find(of: file)
            guard holder.process != nil || isShown else { continue }
            uses.insert(StoreUse(kind: kind, version: version, holder: holder))
        }
        return uses.sorted {
            ($0.version ?? "", $0.kind.rawValue, $0.holder.process ?? 0)
                < ($1.version ?? "", $1.kind.rawValue, $1.holder.process ?? 0)
        }
    }

    /// What a lock in `leases/` is for; `nil` for those that are taken for a moment only.
    private static func use(of name: String) -> (StoreUse.Kind, version: String?)? {
        if let version = StoreLayout.version(pinnedBy: name) { return (.shows, version) }
        if let version = StoreLayout.version(pulledBy: name) { return (.fetches, version) }
        if name == StoreLayout.startLock { return (.watches, nil) }
        return name.hasPrefix(".") ? nil : (.writes, nil)
    }
}
