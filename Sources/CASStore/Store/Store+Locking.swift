// The locks of a store: who may open them, and how long they are waited for.

extension Store {
    /// Opens a file in `leases/` that is there to be locked; made if it is absent.
    /// - Throws: `.notOwner` for another user than the store's.
    package func openLock(_ name: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.openLock(directories.leases.raw, name)
        } catch { throw explained(error) }
    }

    /// Takes a lock; waits for whoever has it, as long as the store's options say.
    /// - Parameter limit: wait no longer than that, whatever the options say.
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
    /// Everybody who may look into a tree may lock it. Who has it when a while is over keeps it from being
    /// taken for a leftover just as well, so the work goes on.
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
