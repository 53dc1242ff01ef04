// Cleaning up continues past what cannot be opened or removed: an immutable file, another user's, a bad sector.

import Synchronization

/// A leftover of a dead writer, or garbage, that cannot be opened or removed.
package struct StuckLeftover: Sendable, Hashable {
    /// Relative to the store.
    package var path: String
    package var reason: String

    package init(path: String, reason: String) {
        self.path = path
        self.reason = reason
    }
}

extension Store {
    /// Does one step of a clean-up; what cannot be opened or removed is reported once, counted, and left.
    /// - Parameter path: the subject of the step, inside the store.
    /// - Returns: whether it is done.
    @discardableResult
    package func passingOver(
        _ path: String, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try body()
            return true
        } catch {
            // A user who may write nothing here is refused as a whole.
            guard error.isOfOneName || error.isNotDirectory, try isOwners() else { throw error }
            var reason = error.message
            // The owner may set the mode of their own files (chmod(2), EPERM), so this one is another user's.
            if case .systemCall(let call, _, _) = error.cause, effectiveUser() != 0,
                error.isAccessDenied || call.hasPrefix("fchmod")
            {
                reason +=
                    "; castree fsck --repair, run as root, gives back what is another user's"
            }
            let isNews = passedOver.withLock { [reason] in
                $0.updateValue(reason, forKey: path) == nil
            }
            if isNews {
                options.notice(
                    "\(printable(path)) in the store stays, and the rest continues: \(reason)")
            }
            return false
        }
    }

    @discardableResult
    package func passingOver(
        _ path: String, _ call: @autoclosure () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        try passingOver(path) { () throws(StoreError) in try call() }
    }

    /// What this store could not open or remove since it was opened.
    package var stuckLeftovers: [StuckLeftover] {
        passedOver.withLock { known in
            known.map { StuckLeftover(path: $0.key, reason: $0.value) }
        }.sorted { $0.path < $1.path }
    }

    package func reasonStuck(of lease: String) -> String? {
        stuckLeftovers.first { $0.path.hasSuffix(lease) }?.reason
    }

    /// Whether this is the store's owner, or root, who acts for the owner.
    private func isOwners() throws(StoreError) -> Bool {
        try [0, fileSystem.status(directories.root.raw).owner].contains(effectiveUser())
    }

    /// Whether a process has locked a file in `leases/` that this one may not open, as far as the kernel tells.
    package func isHeldUnopened(_ name: String) throws(StoreError) -> Bool {
        guard let status = try fileSystem.status(directories.leases.raw, name) else { return false }
        return LockHolder.find(of: status).process != nil
    }
}
