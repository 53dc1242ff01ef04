package import CASStore

// That a store takes only signed releases is known in three places, so that a lost trust.json is noticed: a member of
// lifecycle.json and the lock of the trust, which is not empty then, say so, too.

extension VersionStore {
    /// Whether the store took only signed releases from some origin, as far as another file than trust.json knows.
    func isTrustNoted() throws(StoreError) -> Bool {
        if try isTrustNotedInLock() { return true }
        // A damaged lifecycle is a finding of its own, and what a repair makes of it says what the lock says.
        return try lifecycleIfReadable()?.isTrusting ?? false
    }

    /// Whether the lock of the trust says so.
    private func isTrustNotedInLock() throws(StoreError) -> Bool {
        let lock = try fileSystem.status(directories.leases.raw, StoreLayout.trustLock)
        return lock?.kind == .regular && (lock?.byteCount ?? 0) > 0
    }

    /// Notes, beside trust.json, whether the store takes only signed releases from some origin.
    ///
    /// Both notes are made after trust.json is written, and taken back before it says the contrary: a kill in between leaves
    /// a trust that is noted nowhere, and never a note of a trust that nobody has spoken.
    /// - Parameter lock: the lock of the trust, which the caller holds.
    func noteTrust(_ isTrusting: Bool, in lock: borrowing Descriptor) throws(StoreError) {
        if try isTrustNotedInLock() != isTrusting {
            try fileSystem.truncate(lock.raw, to: isTrusting ? 1 : 0)
            try store.sync(lock.raw)
            try store.sync(directories.leases.raw)
        }
        guard let lifecycle = try lifecycleIfReadable(), lifecycle.isTrusting != isTrusting else {
            return
        }
        try changeLifecycle { (lifecycle) throws(StoreError) in
            lifecycle.isTrusting = isTrusting
        }
    }

    /// Notes a trust that an older castree wrote, or that was not noted because its writer was killed.
    package func noteKnownTrust() throws(StoreError) {
        if try isTrustNotedInLock() { return }
        try changeTrust { (_) throws(StoreError) in }
    }

    /// Ends the refusal of everything in a store that has lost its trust.json: it takes what comes again.
    ///
    /// - Returns: whether the trust was lost.
    package func forgetLostTrust() throws(StoreError) -> Bool {
        guard try fileSystem.status(directories.root.raw, StoreLayout.trust) == nil,
            try isTrustNoted()
        else { return false }
        try changeTrust(anew: true) { (_) throws(StoreError) in }
        return true
    }
}
