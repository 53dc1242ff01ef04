// The locks of a store: who may open them, and how long a wait lasts.

extension Store {
    /// Opens a file in `leases/` that exists to be locked; makes it if it is absent.
    /// - Throws: `.notOwner` for any user but the store's owner.
    package func openLock(_ name: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.openLock(directories.leases.raw, name)
        } catch { throw explained(error) }
    }

    /// Takes a lock; waits for its holder as long as the store's options allow.
    /// - Parameter limit: wait no longer than this, whatever the options say.
    /// - Throws: `.locked`, `.interrupted`.
    package func waitForLock(
        _ file: Int32, exclusive: Bool, atMost limit: Duration? = nil
    ) throws(StoreError) {
        var options = options
        if let limit { options.waitLimit = min(limit, options.waitLimit) }
        try fileSystem.waitForLock(file, exclusive: exclusive, options)
    }

    /// Locks a tree that is about to be hidden and deleted, so that nobody takes it for a leftover.
    ///
    /// Anybody who may look into a tree may lock it. Whoever still holds the lock after a second protects
    /// the tree just as well, so the work goes on.
    package func lockTree(_ tree: Int32) throws(StoreError) {
        var options = options
        options.waitLimit = min(.seconds(1), options.waitLimit)
        do throws(StoreError) {
            try fileSystem.waitForLock(tree, exclusive: true, options)
        } catch {
            guard error.code == .locked else { throw error }
        }
    }
}
