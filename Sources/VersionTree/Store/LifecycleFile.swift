public import CASStore

// The file of the lifecycle and the link that follows it.

extension VersionStore {
    /// Reads the lifecycle without the index, writing nothing.
    /// - Throws: `.badLifecycle` if the file is damaged.
    public func lifecycle() throws(StoreError) -> Lifecycle {
        try Lifecycle.read(directories.root.raw, fileSystem)
    }

    /// Changes the lifecycle exclusively, durably and as a whole; if `body` throws, nothing changes.
    /// - Parameters:
    ///   - checks: whether the caller relies on the lifecycle as it leaves it, which is then made durable even if
    ///     nothing changes.
    ///   - afterwards: runs once the change is durable, before the lifecycle can change again.
    func changeLifecycle<R>(
        checking checks: Bool = true, _ body: (inout Lifecycle) throws(StoreError) -> R,
        afterwards: (R) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> R {
        try store.checkWritable()
        var isChanged = false
        return try store.withReserve(mayRepeat: { !isChanged }) { () throws(StoreError) -> R in
            try self.withLifecycleLocked { () throws(StoreError) -> R in
                let before = try self.lifecycle()
                var lifecycle = before
                let result: R
                do throws(StoreError) { result = try body(&lifecycle) } catch {
                    // Nothing changes. But an earlier change may have been cut short before the link followed and its
                    // names were durable, and the refusal implies that it is done. Report the first error.
                    try? self.pointCurrent(at: before.current)
                    try? self.store.sync(self.directories.root.raw)
                    throw error
                }
                if lifecycle != before {
                    // Refused before anything changes.
                    if lifecycle.current != nil { try self.makeWayForLink() }
                    try self.write(lifecycle)
                    isChanged = true
                } else if checks {
                    // The process that wrote it may have been killed before its name was durable.
                    try self.store.sync(self.directories.root.raw)
                }
                try self.pointCurrent(at: lifecycle.current)
                try afterwards(result)
                return result
            }
        }
    }

    /// Runs `body` while no process changes the lifecycle, or retires a version.
    func withLifecycleLocked<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        let file = try store.openLock(StoreLayout.lifecycleLock)
        try store.waitForLock(file.raw, exclusive: true)
        return try body()
    }

    func write(_ lifecycle: Lifecycle) throws(StoreError) {
        let bytes = try lifecycle.serialized()
        guard bytes.count <= Lifecycle.byteCountMax else {
            throw StoreError(
                .tooLarge,
                "lifecycle.json would have \(bytes.count) bytes, more than the "
                    + "\(Lifecycle.byteCountMax) that are read: it lists \(lifecycle.bad.count) bans; "
                    + "castree lifecycle shows them, castree unban lifts one")
        }
        do throws(StoreError) {
            try fileSystem.replaceFile(
                directories.root.raw, StoreLayout.lifecycle, with: bytes,
                token: "new", durably: store.options.isDurable)
        } catch {
            throw store.noteFailure(error)
        }
    }

    /// Renames a new link over `current`; after a crash before it, the old version is shown until the next change.
    func pointCurrent(at version: String?) throws(StoreError) {
        let root = directories.root.raw
        guard let version else {
            if try fileSystem.symbolicLink(root, StoreLayout.current) != nil {
                try fileSystem.removeIfPresent(root, StoreLayout.current)
            }
            return
        }
        let target = StoreLayout.treePath(version)
        let link = try fileSystem.symbolicLink(root, StoreLayout.current)
        if link == target { return }
        if link == nil { try makeWayForLink() }
        let aside = try fileSystem.free(StoreLayout.newCurrent, in: root)
        try fileSystem.makeSymbolicLink(root, aside, to: target)
        try fileSystem.rename(root, aside, to: root, StoreLayout.current)
        try store.sync(root)
    }

    /// Moves a directory in place of the link `current`, as made by a copy that followed links, to quarantine.
    func makeWayForLink() throws(StoreError) {
        let (root, current) = (directories.root.raw, StoreLayout.current)
        guard try fileSystem.status(root, current)?.kind == .directory else { return }
        try fileSystem.removeEmpty(
            root, current, orMoveTo: directories.quarantine.raw, try StoreLayout.aside(current))
    }
}
