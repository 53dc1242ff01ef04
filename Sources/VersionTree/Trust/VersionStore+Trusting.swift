package import CASStore

// The file of the trust.

extension VersionStore {
    /// Whose releases the store takes; without the file, whatever comes.
    ///
    /// Needs no index, and writes nothing.
    /// - Parameter anew: whether somebody says now whom the store trusts, so that a lost file is none.
    /// - Throws: `.badTrust` if the file is damaged or lost, `.unsupportedFormat` if it is newer than this castree.
    package func trust(anew: Bool = false) throws(StoreError) -> StoreTrust {
        let root = directories.root.raw
        guard let status = try fileSystem.status(root, StoreLayout.trust) else {
            if anew { return StoreTrust() }
            if try isTrustNoted() { throw StoreTrust.lost }
            return StoreTrust()
        }
        guard status.kind == .regular else {
            throw StoreTrust.refuse("something that is not a regular file stands in its place")
        }
        guard status.byteCount <= Int64(StoreTrust.byteCountMax) else {
            throw StoreTrust.refuse("it has \(status.byteCount) bytes")
        }
        do throws(StoreError) {
            return try StoreTrust(
                parsing: fileSystem.contents(
                    root, StoreLayout.trust, limit: StoreTrust.byteCountMax))
        } catch {
            throw error.ifUnreadable(StoreTrust.refuse)
        }
    }

    /// Changes the trust: alone among processes, durably, and as a whole.
    ///
    /// When it returns, what it says survives a power cut. If `body` throws, nothing changes.
    /// - Parameter anew: as for ``trust(anew:)``.
    /// - Throws: `.badTrust` rather than write over a damaged file; `.untrusted` rather than name an
    ///   origin twice; `.outOfSpace`, `.readOnly`.
    package func changeTrust<R>(
        anew: Bool = false, _ body: (inout StoreTrust) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try store.checkWritable()
        return try store.withReserve { () throws(StoreError) -> R in
            let lock = try self.store.openLock(StoreLayout.trustLock)
            try self.store.waitForLock(lock.raw, exclusive: true)
            let before = try self.trust(anew: anew)
            var trust = before
            let result = try body(&trust)
            if trust != before {
                guard trust.isUnique else {
                    throw StoreError(
                        .untrusted,
                        "an origin would stand in trust.json twice; nothing was changed")
                }
                if trust.origins.isEmpty { try self.noteTrust(false, in: lock) }
                try self.write(trust)
            } else {
                // The process that wrote it may have been killed before its name was durable.
                try self.store.sync(self.directories.root.raw)
            }
            try self.noteTrust(!trust.origins.isEmpty, in: lock)
            return result
        }
    }

    private func write(_ trust: StoreTrust) throws(StoreError) {
        let bytes = try trust.serialized()
        guard bytes.count <= StoreTrust.byteCountMax else {
            throw StoreError(
                .tooLarge,
                "trust.json would have \(bytes.count) bytes, more than the \(StoreTrust.byteCountMax) that are read; "
                    + "castree trust remove takes origins out of it")
        }
        do throws(StoreError) {
            try fileSystem.replaceFile(
                directories.root.raw, StoreLayout.trust, with: bytes, mode: 0o600, token: "new",
                durably: store.options.isDurable)
        } catch {
            throw store.noteFailure(error)
        }
    }

    /// Checks that the trust can be read.
    ///
    /// Nothing can make it again: a repair leaves it to a person.
    func checkTrust() throws(StoreError) -> [Finding] {
        do throws(StoreError) {
            _ = try trust()
        } catch {
            // Whatever it is, it must not keep the rest of the store from being checked.
            guard [.badTrust, .permission, .io].contains(error.code) else { throw error }
            return [Finding(.damagedTrust, path: StoreLayout.trust, error.message)]
        }
        return []
    }

    // That a store takes only signed releases is known in three places, so that a lost trust.json is noticed: a member of
    // lifecycle.json and the lock of the trust, which is not empty then, say so, too.

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
