package import CASStore

// Reads and writes trust.json.

extension VersionStore {
    /// The trust of the store, read without the index; without the file it accepts unsigned releases.
    /// - Parameter anew: whether trust is being named anew, so that a lost file does not matter.
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

    /// Changes the trust exclusively among processes, durably and as a whole; if `body` throws, nothing changes.
    /// - Parameter anew: as for ``trust(anew:)``.
    /// - Throws: `.badTrust` rather than overwrite a damaged file; `.untrusted` rather than name an origin twice;
    ///   `.outOfSpace`, `.readOnly`.
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

    /// Checks that the trust can be read; it cannot be rebuilt, so a repair leaves it to a person.
    func checkTrust() throws(StoreError) -> [Finding] {
        do throws(StoreError) {
            _ = try trust()
        } catch {
            // It must not keep the rest of the store from being checked.
            guard [.badTrust, .permission, .io].contains(error.code) else { throw error }
            return [Finding(.damagedTrust, path: StoreLayout.trust, error.message)]
        }
        return []
    }

    // Three places record that a store accepts only signed releases, so that a lost trust.json is noticed. The other
    // two are a member of lifecycle.json and the lock of the trust, which is then not empty.

    /// Whether another file than trust.json records that the store accepted only signed releases from some origin.
    func isTrustNoted() throws(StoreError) -> Bool {
        if try isTrustNotedInLock() { return true }
        // A damaged lifecycle is a finding of its own, and a repair copies what the lock says.
        return try lifecycleIfReadable()?.isTrusting ?? false
    }

    private func isTrustNotedInLock() throws(StoreError) -> Bool {
        let lock = try fileSystem.status(directories.leases.raw, StoreLayout.trustLock)
        return lock?.kind == .regular && (lock?.byteCount ?? 0) > 0
    }

    /// Records beside trust.json whether the store accepts only signed releases from some origin.
    ///
    /// Both notes are made after trust.json is written, and removed before it says the contrary. A kill in between
    /// leaves a trust without a note, never a note of a trust that was not declared.
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

    /// Notes a trust that an older castree wrote, or whose writer was killed before noting it.
    package func noteKnownTrust() throws(StoreError) {
        if try isTrustNotedInLock() { return }
        try changeTrust { (_) throws(StoreError) in }
    }

    /// Makes a store that has lost its trust.json accept releases again.
    /// - Returns: whether the trust was lost.
    package func forgetLostTrust() throws(StoreError) -> Bool {
        guard try fileSystem.status(directories.root.raw, StoreLayout.trust) == nil,
            try isTrustNoted()
        else { return false }
        try changeTrust(anew: true) { (_) throws(StoreError) in }
        return true
    }
}
