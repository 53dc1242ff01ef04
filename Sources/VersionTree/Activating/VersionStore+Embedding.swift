package import CASStore

/// What changes when another version becomes the one shipped with the app.
package struct EmbeddedChange: Sendable, Hashable {
    /// Whether the embedded version is shown from now on.
    package var becomesCurrent = false
    /// Whether what waits for the next boot stops waiting.
    package var dropsPending = false
    /// Versions that the app can no longer run: nobody shows them or goes back to them.
    package var unfit: Set<String> = []
    /// Whether a ban of the embedded version's content is lifted.
    package var liftsBan = false
    /// Why the embedded version is shown or not, in words for people.
    package var reason = ""

    /// Nothing but the mark changes.
    package init() {}
}

extension VersionStore {
    /// Marks a version as the one shipped with the app, in one step with what follows from that.
    ///
    /// Deletes nothing: from now on the version that was embedded before and the unfit ones are like
    /// any other.
    ///
    /// - Parameter decide: decides what else changes; runs while nobody else changes the lifecycle.
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

    /// Makes the lifecycle durable as it is, and lets `current` follow it.
    ///
    /// For a caller that finds the work of another process done: that process may have been killed before
    /// its names were durable, or between writing the file and the link. Does nothing on a disk that cannot
    /// be written: nothing is lost there either.
    package func vouchForLifecycle() throws(StoreError) {
        do throws(StoreError) {
            try changeLifecycle { _ in }
        } catch {
            guard [.readOnly, .permission].contains(error.code) else { throw error }
        }
    }
}

extension Lifecycle {
    /// Shows what the app was shipped with, and forgets what the app cannot run.
    mutating func markEmbedded(
        _ version: String, _ change: EmbeddedChange, _ versions: some StartableVersions
    ) throws(StoreError) {
        embedded = version
        knownGood.removeAll { change.unfit.contains($0) && $0 != version }
        if let pending, change.dropsPending || change.unfit.contains(pending) {
            self.pending = nil
        }
        if change.becomesCurrent { try activate(version, versions) }
        // Even if it has just become the way back.
        if let before, change.unfit.contains(before) { self.before = nil }
    }
}
