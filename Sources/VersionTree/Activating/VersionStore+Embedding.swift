package import CASStore

/// What changes when another version is the one that was shipped with the app.
package struct EmbeddedChange: Sendable, Hashable {
    /// Whether the embedded version is shown from now on.
    package var becomesCurrent = false
    /// Whether what waits for the next boot no longer does.
    package var dropsPending = false
    /// Versions that the app cannot run any more: they are neither shown nor gone back to.
    package var unfit: Set<String> = []
    /// Whether a ban of the embedded version's content is lifted.
    package var liftsBan = false

    /// Nothing but the mark changes.
    package init() {}
}

extension VersionStore {
    /// Marks a version as the one that was shipped with the app, in one step with what follows from
    /// that.
    ///
    /// Nothing is deleted: the version that was embedded before, and those that are unfit, are as any
    /// other from here on.
    ///
    /// - Parameter decide: what else changes; called while nobody else changes the lifecycle.
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
            if change.liftsBan { lifecycle.forgive(content) }
            return (before, lifecycle)
        }
        guard before != after else { return }
        note(
            .embedded(
                version: name, previous: before.embedded,
                becameCurrent: after.current == name && before.current != name))
    }
}

extension VersionStore {
    /// Makes the lifecycle durable as it is, and lets `current` follow it.
    ///
    /// For whoever finds done what another process has begun: that one may have been killed before its
    /// names were durable, or between the file and the link. Does nothing on a disk that cannot be written:
    /// nothing is lost there either.
    package func vouchForLifecycle() throws(StoreError) {
        do throws(StoreError) {
            try changeLifecycle { _ in }
        } catch {
            guard [.readOnly, .permission].contains(error.code) else { throw error }
        }
    }
}

extension Lifecycle {
    /// Shows what the app was shipped with, and forgets what it cannot run.
    mutating func markEmbedded(
        _ version: String, _ change: EmbeddedChange, _ versions: some StartableVersions
    ) throws(StoreError) {
        embedded = version
        knownGood.removeAll { change.unfit.contains($0) && $0 != version }
        if let pending, change.dropsPending || change.unfit.contains(pending) {
            self.pending = nil
        }
        if change.becomesCurrent { try activate(version, versions) }
        // Also if it has just become the way back.
        if let before, change.unfit.contains(before) { self.before = nil }
    }
}
