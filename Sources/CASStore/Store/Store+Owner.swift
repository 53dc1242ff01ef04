// Who owns a store, to explain a refusal.

extension Store {
    /// The error, explained if its reason is that the store belongs to another user.
    package func explained(_ error: StoreError) -> StoreError {
        guard error.code == .permission else { return error }
        // The refusal stands, in the system's own words.
        guard let root = try? fileSystem.status(directories.root.raw) else { return error }
        let user = effectiveUser()
        guard root.owner != user else { return error }
        // Root acts for the owner, who would be refused as well.
        guard user != 0 else {
            return error.advising(
                "it may belong to another user than the store: castree fsck --repair, run as root, gives it back"
            )
        }
        return StoreError(
            .notOwner,
            "the store \(printable(path)) belongs to \(userDescription(root.owner)), and this is "
                + "\(userDescription(user)): run the command as its owner"
                + (userName(root.owner).map { " (sudo -u \($0) …)" } ?? ""),
            cause: error.cause)
    }

    /// Refuses a user who may not lock the store, and so can look at nothing in it.
    ///
    /// For callers that would otherwise wait for that to change. Nobody needs locks on a read-only file
    /// system.
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
