public import CASStore

// Manifests from their files: as they are, and as they were registered.

extension VersionStore {
    /// The manifest of a registered version, read from its file: needs no index, and writes nothing.
    /// - Throws: `.noVersion`; `.badManifest` if the file is damaged; `.io` if the disk does not give it.
    public func manifest(of name: String) throws(StoreError) -> Manifest {
        do throws(StoreError) {
            return try parse(openManifest(name), name)
        } catch {
            throw error.code == .noVersion ? noManifest(name) : error
        }
    }

    /// The manifest of a version, for callers that go on without it; `nil` if it is lost, or the disk does not give it.
    package func readableManifest(of name: String) throws(StoreError) -> Manifest? {
        try allowing(Self.saysManifestIsUnusable, try manifest(of: name))
    }

    /// The manifest of a version, for callers that replace or forget what is lost: `nil` if the version was retired, or
    /// the file is missing or damaged.
    /// - Throws: `.io` if the disk does not give it: it may the next time.
    package func manifestUnlessLost(of name: String) throws(StoreError) -> Manifest? {
        try allowing(Self.saysManifestIsLost, try manifest(of: name))
    }

    /// What reading a manifest gives, if need be at a second look: what the disk does not give once may be whole.
    package func lookingAgain<R>(_ look: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) {
            return try look()
        } catch {
            guard error.isUnreadable else { throw error }
            return try look()
        }
    }

    /// What is in the place of a manifest; `nil` if nothing is.
    func manifestStatus(_ name: String) throws(StoreError) -> FileStatus? {
        try fileSystem.status(directories.manifests.raw, StoreLayout.manifest(name))
    }

    /// Whether the file of a manifest exists, whatever is in it.
    package func hasManifest(_ name: String) throws(StoreError) -> Bool {
        try manifestStatus(name) != nil
    }

    /// Whether nothing brings back what a manifest said: somebody may make it again, or do without it for good.
    package static func saysManifestIsLost(_ error: StoreError) -> Bool {
        [.badManifest, .noVersion, .tooLarge].contains(error.code)
    }

    /// Whether a manifest is lost, or cannot be read now (the disk does not give it, or its owner is another one): of that,
    /// a check makes a finding, and nobody else more than doing without.
    package static func saysManifestIsUnusable(_ error: StoreError) -> Bool {
        saysManifestIsLost(error) || error.isOfOneName
    }

    /// The manifest of a registered version, if its file is the one that was registered.
    ///
    /// For callers that make something of it: a tree, a checkout, what a server shows.
    /// - Throws: `.noVersion`; `.badManifest` if the file is damaged or somebody has edited it.
    /// - Parameter row: the row of the version, if the caller has just looked it up.
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
            // Somebody may be revising the version, or adding one of that name again.
            try store.waitForWriters()
            waits = false
        }
    }

    /// A manifest, the address of its file's bytes, and the file.
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
