// Replacing what a version names, while it waits for its content.

/// What became of a revision.
package enum Revision: Sendable {
    /// The version has the new manifest.
    case revised(isComplete: Bool)
    /// The version has become complete in the meantime: nothing was changed.
    case complete
    /// The version is not registered: nothing was changed.
    case unknown
}

extension Store {
    /// Protects what a version will name, whatever it names now: no collector deletes it while the
    /// lease lasts.
    package func claim(
        _ references: References, lease: borrowing Lease
    ) throws(StoreError) {
        try claim(count: references.count, { references[$0].address }, lease: lease)
    }

    /// Replaces what an incomplete version names, in one transaction.
    ///
    /// - Parameter replaceManifest: puts the new manifest in place of the old one, durably. Called
    ///   once, when the index has accepted all of it.
    /// - Throws: `.mismatch` if the new manifest gives an object that is there another size.
    package func revise(
        _ registration: Registration, replaceManifest: () throws(StoreError) -> Void
    ) throws(StoreError) -> Revision {
        try replace(registration, replaceManifest: replaceManifest) { before in
            guard let before else { return .unknown }
            return before.isComplete ? .complete : nil
        }
    }

    /// Records a manifest that was made again, and replaces whatever the index knows of the version.
    ///
    /// - Parameters:
    ///   - manifest: what the index said of the manifest when it was looked at; `nil` for nothing.
    ///   - replaceManifest: as for ``revise(_:replaceManifest:)``; throws `.lost` if another manifest stands there by
    ///     now.
    ///   - takingBack: removes it again if the version could not be recorded: it would look like an edited one.
    /// - Returns: `false` if somebody has added, pulled or retired the version since.
    package func recordRecovered(
        _ registration: Registration, inPlaceOf manifest: ObjectID?,
        replaceManifest: () throws(StoreError) -> Void,
        takingBack: () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var isReplaced = false
        do throws(StoreError) {
            let revision = try replace(
                registration, acceptsContradictions: true,
                replaceManifest: { () throws(StoreError) in
                    try replaceManifest()
                    isReplaced = true
                }, unless: { $0?.manifest == manifest ? nil : .unknown })
            if case .unknown = revision { return false }
            return true
        } catch {
            if error.code == .lost { return false }
            // Report the first error.
            if isReplaced { try? takingBack() }
            throw error
        }
    }

    /// - Parameter refuse: given the row as it is, what to return without any change.
    private func replace(
        _ registration: Registration, acceptsContradictions: Bool = false,
        replaceManifest: () throws(StoreError) -> Void, unless refuse: (VersionRow?) -> Revision?
    ) throws(StoreError) -> Revision {
        var isReplaced = false
        return try index { (index) throws(StoreError) in
            do throws(StoreError) {
                return try index.write { (index) throws(StoreError) -> Revision in
                    let before = try index.version(registration.name)
                    if !isReplaced, let refusal = refuse(before) { return refusal }
                    if let before { try index.removeVersion(id: before.id) }
                    _ = try index.insertVersion(
                        registration, acceptsContradictions: acceptsContradictions
                    ) { (address) throws(StoreError) in try self.objects.contains(address) }
                    // After a rebuild of the index the transaction may run again.
                    if !isReplaced { try replaceManifest() }
                    isReplaced = true
                    let manifest = try self.fileSystem.status(
                        self.directories.manifests.raw, StoreLayout.manifest(registration.name))
                    if let manifest {
                        try index.noteManifest(
                            registration.name, Index.identity(manifest))
                    }
                    try index.noteManifestsDirectory()
                    _ = try index.completeVersions()
                    let after = try index.version(registration.name)
                    return .revised(isComplete: after?.isComplete == true)
                }
            } catch {
                // The manifest may be the new one and the row the old: the next use compares them.
                index.isReconciled = false
                throw error
            }
        }
    }
}
