public import CASStore

// Reads manifests from their files: as they are, and as they were registered.

extension VersionStore {
    /// The manifest of a registered version, read from its file without the index; writes nothing.
    /// - Throws: `.noVersion`; `.badManifest` if the file is damaged; `.io` if the disk cannot read it.
    public func manifest(of name: String) throws(StoreError) -> Manifest {
        do throws(StoreError) {
            return try parse(openManifest(name), name)
        } catch {
            throw error.code == .noVersion ? noManifest(name) : error
        }
    }

    /// The manifest of a version, for callers that can do without; `nil` if it is lost or unreadable.
    package func readableManifest(of name: String) throws(StoreError) -> Manifest? {
        try allowing(Self.saysManifestIsUnusable, try manifest(of: name))
    }

    /// The manifest of a version, for callers that replace or forget a lost one; `nil` if it is missing or damaged.
    /// - Throws: `.io` if the disk cannot read it, which may succeed the next time.
    package func manifestUnlessLost(of name: String) throws(StoreError) -> Manifest? {
        try allowing(Self.saysManifestIsLost, try manifest(of: name))
    }

    /// Reads a manifest, if need be twice: what the disk cannot read once may be whole.
    package func lookingAgain<R>(_ look: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) {
            return try look()
        } catch {
            guard error.isUnreadable else { throw error }
            return try look()
        }
    }

    /// The status of a manifest's file; `nil` if nothing is there.
    func manifestStatus(_ name: String) throws(StoreError) -> FileStatus? {
        try fileSystem.status(directories.manifests.raw, StoreLayout.manifest(name))
    }

    package func hasManifest(_ name: String) throws(StoreError) -> Bool {
        try manifestStatus(name) != nil
    }

    /// Whether a manifest is lost for good, so that it may be rebuilt or done without.
    package static func saysManifestIsLost(_ error: StoreError) -> Bool {
        [.badManifest, .noVersion, .tooLarge].contains(error.code)
    }

    /// Whether a manifest is lost, or unreadable now (disk error, other owner), so that all but checks do without.
    package static func saysManifestIsUnusable(_ error: StoreError) -> Bool {
        saysManifestIsLost(error) || error.isOfOneName
    }

    /// The manifest of a registered version, if its file is the one that was registered.
    ///
    /// For callers that derive something from it: a tree, a checkout, what a server shows.
    /// - Parameter row: the row of the version, if the caller has just looked it up.
    /// - Throws: `.noVersion`; `.badManifest` if the file is damaged or was edited.
    package func registeredManifest(
        of name: String, _ row: VersionRow? = nil
    ) throws(StoreError) -> Manifest {
        var (row, waits) = (row, true)
        while true {
            let now = if let row { row } else { try self.row(of: name) }
            row = nil
            let (manifest, address, _) = try addressedManifest(of: name)
            if address == now.manifest { return manifest }
            guard waits else { throw StoreError(.badManifest, StoreError.editedManifest(name)) }
            // The version may be under revision, or a version of that name may be just being added again.
            try store.waitForWriters()
            waits = false
        }
    }

    func addressedManifest(
        of name: String
    ) throws(StoreError) -> (manifest: Manifest, address: ObjectID, file: HeldFile) {
        let file = try openManifest(name)
        let running = try RunningAddress()
        let manifest = try parse(file, name, running)
        let address = try running.finish(file, fileSystem)
        return (manifest, address, file.held())
    }

    func openManifest(_ name: String) throws(StoreError) -> RegularFile {
        let version = try VersionName(name)
        do throws(StoreError) {
            return try fileSystem.openRegular(
                directories.manifests.raw, StoreLayout.manifest(version.description),
                limit: Manifest.byteCountMax)
        } catch {
            if error.code == .notFound { throw StoreError.noVersion(name) }
            if error.isAccessDenied {
                throw error.advising(
                    "castree fsck --repair opens it, or, run as root, gives it back")
            }
            guard error.code == .io, error.cause == nil || error.isNotDirectory else { throw error }
            throw StoreError(.badManifest, "version \(name): its manifest is not a regular file")
        }
    }

    private func noManifest(_ name: String) -> StoreError {
        // If the index cannot answer, the version is as good as unknown.
        guard (try? store.versionRow(name)) != nil else { return StoreError.noVersion(name) }
        return StoreError(
            .noVersion,
            "the manifest of version \(name) is not there; castree fsck --repair makes it again")
    }

    func parse(
        _ file: borrowing RegularFile, _ name: String, _ address: RunningAddress? = nil
    ) throws(StoreError) -> Manifest {
        let manifest: Manifest
        do throws(StoreError) {
            manifest = try Manifest(reading: file, fileSystem, address)
        } catch {
            guard error.code == .badManifest else { throw error }
            throw StoreError(.badManifest, "version \(name): \(error.message)")
        }
        guard manifest.version.description == name else {
            throw StoreError(
                .badManifest, "the manifest file of version \(name) is that of \(manifest.version)")
        }
        return manifest
    }
}

/// Reads manifests for the index.
package struct StoredManifests: ManifestReading {
    package init() {}

    package var byteCountMax: Int { Manifest.byteCountMax }

    package func registration(
        of name: String, from file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Registration {
        let address = try RunningAddress()
        let manifest = try Manifest(reading: file, fileSystem, address)
        guard manifest.version.description == name else {
            throw StoreError(
                .badManifest,
                "the manifest file of version \(printable(name)) is that of \(manifest.version)")
        }
        return try manifest.registration(manifest: address.finish(file, fileSystem))
    }

    /// Whether a tree or the lifecycle names a version; an unreadable lifecycle may name any.
    package func isSpokenOf(
        _ version: String, _ directories: StoreDirectories, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        if try fileSystem.status(directories.versions.raw, version)?.kind == .directory {
            return true
        }
        let lifecycle = try allowing(
            \.saysLifecycleIsBad, try Lifecycle.read(directories.root.raw, fileSystem))
        return lifecycle?.needed.contains(version) ?? true
    }
}
