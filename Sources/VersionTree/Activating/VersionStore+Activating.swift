public import CASStore

extension VersionStore {
    /// Makes a version current in one step, after its tree is complete and in place.
    ///
    /// A tree that was written to is built again first. An older pending version is dropped.
    /// - Returns: the version that was current before.
    /// - Throws: `.noVersion`, `.incompleteVersion`, `.bannedVersion`; `.damagedObject` if objects were written to.
    @discardableResult
    public func activate(_ name: String) throws(StoreError) -> String? {
        try materialize(name)
        try mendTree(of: name)
        let (previous, waited) = try changeLifecycle {
            (lifecycle) throws(StoreError) -> (String?, String?) in
            try self.refuseUnfit(name, lifecycle)
            let previous = lifecycle.current
            try lifecycle.activate(name, self)
            guard let waits = lifecycle.pending, try self.isOlder(waits, than: name) else {
                return (previous, nil)
            }
            lifecycle.pending = nil
            return (previous, waits)
        }
        if previous != name { note(.switched(version: name, from: previous)) }
        if let waited { note(.withdrawn(version: waited)) }
        return previous
    }

    private func isOlder(_ name: String, than other: String) throws(StoreError) -> Bool {
        guard let row = try store.versionRow(name) else { return true }
        return try row.ordinal < self.row(of: other).ordinal
    }

    /// Makes a version pending for the next ``boot(failedAttempts:)``; naming the current version clears what is
    /// pending.
    /// - Throws: `.noVersion`, `.incompleteVersion`, `.bannedVersion`, `.damagedObject`.
    public func activateAtNextBoot(_ name: String) throws(StoreError) {
        try materialize(name)
        try mendTree(of: name)
        let (before, after) = try changeLifecycle {
            (lifecycle) throws(StoreError) -> (String?, String?) in
            try self.refuseUnfit(name, lifecycle)
            let before = lifecycle.pending
            lifecycle.pending = name == lifecycle.current ? nil : name
            return (before, lifecycle.pending)
        }
        if let before, after == nil { note(.withdrawn(version: before)) }
        if let after, after != before { note(.pending(version: after)) }
    }

    /// Stops a version from being pending, unless another one is pending by now.
    /// - Returns: whether it was pending and no longer is; `false` also while nothing is current.
    /// - Throws: `.bannedVersion`, `.incompleteVersion` if the current version could not be shown again: no change.
    package func takeBack(pending version: String) throws(StoreError) -> Bool {
        let hasWaited = try changeLifecycle { (lifecycle) throws(StoreError) -> Bool in
            guard lifecycle.pending == version, let current = lifecycle.current else {
                return false
            }
            try self.refuseUnfit(current, lifecycle)
            lifecycle.pending = nil
            return true
        }
        if hasWaited { note(.withdrawn(version: version)) }
        return hasWaited
    }

    /// Rolls back to no known good version whose content a channel has withdrawn, if there is another.
    package func demote(withdrawn isWithdrawn: (ObjectID) -> Bool) throws(StoreError) {
        let before = try lifecycle()
        var names: Set<String> = []
        for name in before.waysBack {
            if let content = try content(of: name), isWithdrawn(content) { names.insert(name) }
        }
        var after = before
        after.demote(names)
        guard after != before else { return }
        try changeLifecycle { (lifecycle) throws(StoreError) in lifecycle.demote(names) }
    }

    /// Refuses a version that is banned, or that was retired or damaged after its tree was made.
    private func refuseUnfit(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) {
        try refuseUnshowable(name, lifecycle)
        if try !isMaterialized(name) { _ = try materializeIfAbsent(name, alone: true) }
    }

    /// Refuses a version that is banned or incomplete, without changing anything.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`, `.noVersion`.
    package func refuseUnshowable(
        _ name: String, _ lifecycle: Lifecycle
    ) throws(StoreError) {
        let row = try row(of: name)
        guard row.isComplete else { throw try incomplete(name) }
        if let ban = lifecycle.ban(of: row.content) {
            throw StoreError(
                .bannedVersion,
                "version \(name) is banned (\(printable(ban.reason))); "
                    + "castree unban \(name) lifts it")
        }
    }

    /// Confirms exactly the version that started; repeating the call changes nothing.
    /// - Returns: the version, which is known good from now on.
    /// - Throws: `.wrongToken` if another version or another start is running.
    @discardableResult
    public func confirm(_ name: String, token: String) throws(StoreError) -> String {
        let isNews = try changeLifecycle { (lifecycle) throws(StoreError) -> Bool in
            let isNews = try lifecycle.acceptConfirmation(name, token: token)
            // Even if this version was not being tried: the same content may be, or have a ban under another name.
            let hasFailed = !(lifecycle.bad.isEmpty && lifecycle.attempts.isEmpty)
            if isNews, hasFailed, let content = try self.content(of: name) {
                lifecycle.unban(content)
            }
            return isNews
        }
        if isNews { note(.confirmed(version: name)) }
        return name
    }

    /// Lifts the ban of a version and clears its failed starts.
    /// - Throws: `.noVersion` if no such version is banned and no start of it has failed.
    public func unban(_ name: String) throws(StoreError) {
        let content = try store.versionRow(name)?.content
        try changeLifecycle { (lifecycle) throws(StoreError) in
            let before = lifecycle
            lifecycle.bad.removeAll { $0.version == name || $0.content == content }
            lifecycle.attempts.removeAll { $0.version == name || $0.content == content }
            guard lifecycle != before else {
                throw StoreError(
                    .noVersion, "version \"\(printable(name))\" is not banned")
            }
        }
        note(.unbanned(version: name))
    }

    /// Whether a version is known good and no other known good version can be shown.
    func isLastKnownGood(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard lifecycle.knownGood.contains(name) else { return false }
        for other in lifecycle.knownGood where other != name {
            if let row = try store.versionRow(other), row.isComplete,
                lifecycle.ban(of: row.content) == nil
            {
                return false
            }
        }
        return true
    }

    // Protection serves needs the lifecycle does not know of, such as the version a shell is served from.

    /// Protects a version: neither a person nor a policy can retire it until ``unprotect(_:)``.
    /// - Returns: whether it was unprotected before.
    /// - Throws: `.noVersion`.
    @discardableResult
    public func protect(_ name: String) throws(StoreError) -> Bool {
        let version = try VersionName(name).description
        // Under the lifecycle lock, so that no one retires it meanwhile.
        return try changeLifecycle { (lifecycle) throws(StoreError) in
            guard try self.store.versionRow(version) != nil else {
                throw StoreError.noVersion(version)
            }
            return lifecycle.protected.insert(version).inserted
        }
    }

    /// Ends the protection of a version.
    /// - Throws: `.noVersion` if it is not protected.
    public func unprotect(_ name: String) throws(StoreError) {
        let version = try VersionName(name).description
        try changeLifecycle { (lifecycle) throws(StoreError) in
            guard lifecycle.protected.remove(version) != nil else {
                throw StoreError(
                    .noVersion, "version \"\(printable(version))\" is not protected")
            }
        }
    }
}

/// The changes that follow when another version becomes the one shipped with the app.
package struct EmbeddedChange: Sendable, Hashable {
    package var becomesCurrent = false
    package var dropsPending = false
    /// Versions that the app can no longer run: they are neither shown nor rolled back to.
    package var unfit: Set<String> = []
    package var liftsBan = false
    /// Why the embedded version is shown or not, for people.
    package var reason = ""

    /// Changes only the mark.
    package init() {}
}

extension VersionStore {
    /// Marks a version as the one shipped with the app, together with the changes that follow, in one step.
    ///
    /// Deletes nothing: the version embedded before and the unfit ones become ordinary versions.
    /// - Parameter decide: decides what else changes; runs under the lifecycle lock.
    /// - Throws: `.noVersion`, `.incompleteVersion`; what `decide` throws, and then nothing changes.
    package func markEmbedded(
        _ name: String, deciding decide: (Lifecycle) throws(StoreError) -> EmbeddedChange
    ) throws(StoreError) {
        try materialize(name)
        let content = try row(of: name).content
        let (before, after) = try changeLifecycle {
            (lifecycle) throws(StoreError) -> (Lifecycle, Lifecycle) in
            let before = lifecycle
            let change = try decide(before)
            try lifecycle.markEmbedded(name, change, self)
            if change.liftsBan { lifecycle.unban(content) }
            return (before, lifecycle)
        }
        guard before != after else { return }
        note(
            .embedded(
                version: name, previous: before.embedded,
                becameCurrent: after.current == name && before.current != name))
    }

    /// Makes the lifecycle durable as it is and points `current` at its current version.
    ///
    /// For a caller that finds the work done by a process that may have been killed before its names were durable, or
    /// between writing the file and the link. Does nothing on a read-only disk, where nothing can be lost.
    package func confirmLifecycle() throws(StoreError) {
        do throws(StoreError) {
            try changeLifecycle { _ in }
        } catch {
            guard [.readOnly, .permission].contains(error.code) else { throw error }
        }
    }
}

extension Lifecycle {
    mutating func markEmbedded(
        _ version: String, _ change: EmbeddedChange, _ versions: some StartableVersions
    ) throws(StoreError) {
        embedded = version
        knownGood.removeAll { change.unfit.contains($0) && $0 != version }
        if let pending, change.dropsPending || change.unfit.contains(pending) {
            self.pending = nil
        }
        if change.becomesCurrent { try activate(version, versions) }
        // Even if it has just become the version to roll back to.
        if let before, change.unfit.contains(before) { self.before = nil }
    }
}
