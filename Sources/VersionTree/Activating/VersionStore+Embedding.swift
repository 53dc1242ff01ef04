package import CASStore

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
