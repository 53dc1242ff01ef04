// The locks of a store: who may open them, and how long a wait lasts.

extension Store {
    /// Opens a lock file in `leases/`, creating it if it is absent.
    /// - Throws: `.notOwner` for any user but the store's owner.
    package func openLock(_ name: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            do throws(StoreError) {
                return try fileSystem.openLock(directories.leases.raw, name)
            } catch {
                // A new lock file takes the reserve's inode if no other is left.
                guard error.isDiskFull else { throw error }
                try releaseReserve()
                return try fileSystem.openLock(directories.leases.raw, name)
            }
        } catch { throw explained(error) }
    }

    /// Takes a lock, waiting for its holder as long as the store's options allow.
    /// - Parameter limit: wait no longer than this, whatever the options say.
    /// - Throws: `.locked`, `.interrupted`.
    package func waitForLock(
        _ file: Int32, exclusive: Bool, atMost limit: Duration? = nil
    ) throws(StoreError) {
        try fileSystem.waitForLock(
            file, exclusive: exclusive, limit.map(options.waiting(atMost:)) ?? options)
    }

    /// Locks a tree that is about to be hidden and deleted, so that it is not taken for a leftover.
    ///
    /// A stranger that keeps the lock for longer than a second protects the tree just as well.
    package func lockTree(_ tree: Int32) throws(StoreError) {
        try allowing(
            { $0.code == .locked }, try waitForLock(tree, exclusive: true, atMost: .seconds(1)))
    }

    /// Explains a permission error if the store belongs to another user.
    package func explained(_ error: StoreError) -> StoreError {
        guard error.code == .permission else { return error }
        // The refusal stands, in the system's own words.
        guard let root = try? fileSystem.status(directories.root.raw) else { return error }
        let user = effectiveUser()
        guard root.owner != user else { return error }
        // If root may act for the owner, the owner would be refused as well.
        guard user != 0 else {
            if let refusal = (fileSystem as? OwnersFileSystem)?.refusal { return refusal }
            return error.advising(
                "it may belong to another user than the store: castree fsck --repair, run as root, returns it"
            )
        }
        return StoreError(
            .notOwner,
            "the store \(printable(path)) belongs to \(userDescription(root.owner)), and this is "
                + "\(userDescription(user)): run the command as its owner"
                + (userName(root.owner).map { " (sudo -u \($0) …)" } ?? ""),
            cause: error.cause)
    }

    /// Refuses a user who may not lock the store, and so can read nothing in it.
    ///
    /// For callers that would otherwise wait for that to change. Locks are not needed on a read-only file system.
    /// - Throws: `.notOwner`.
    package func refuseStranger() throws(StoreError) {
        do throws(StoreError) {
            _ = try openLock(StoreLayout.indexLock)
        } catch {
            // Code that needs the lock reports whatever else is wrong.
            guard error.code == .notOwner,
                try !fileSystem.freeSpace(directories.leases.raw).isReadOnly
            else { return }
            throw error
        }
    }
}
