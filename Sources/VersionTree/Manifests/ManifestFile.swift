import CASStore

/// The file of a version's manifest, on its way into `manifests/`.
struct ManifestFile {
    private let versions: VersionStore
    private let manifest: Manifest
    private let lease: String
    private let aside: String
    private let name: String

    init(_ versions: VersionStore, _ manifest: Manifest, lease: String) {
        self.versions = versions
        self.manifest = manifest
        self.lease = lease
        name = StoreLayout.manifest(manifest.version.description)
        aside = ".\(name).\(lease)"
    }

    private var directory: Int32 { versions.directories.manifests.raw }

    /// What the index needs to know, with the address of the canonical bytes.
    func registration() throws(StoreError) -> Registration {
        var digester = try Digester(.sha256)
        try manifest.serialize(limits: versions.limits) { (piece) throws(StoreError) in
            piece.withUnsafeBytes { digester.update($0) }
        }
        return try manifest.registration(manifest: digester.finish { ObjectID(unchecked: $0) })
    }

    /// Writes the canonical bytes beside their place.
    ///
    /// The caller makes them durable.
    func write() throws(StoreError) {
        let fileSystem = versions.fileSystem
        try fileSystem.removeIfPresent(directory, aside)
        do throws(StoreError) {
            let file = try fileSystem.open(directory, aside, .creating, mode: 0o444)
            try manifest.serialize(limits: versions.limits) { (piece) throws(StoreError) in
                try fileSystem.write(file.raw, piece)
            }
            try fileSystem.setMode(file.raw, 0o444)
            if !versions.store.canSyncAll { try versions.store.sync(file.raw) }
        } catch {
            // The error to report is the first; a leftover is hidden and swept by the next write.
            try? fileSystem.removeIfPresent(directory, aside)
            throw error
        }
    }

    /// What stands in the manifest's place.
    private enum Standing { case same(Manifest), damaged, nothing }

    /// - Throws: `.versionExists` if a manifest with other content stands there.
    private func standing() throws(StoreError) -> Standing {
        let there: Manifest
        do throws(StoreError) {
            there = try versions.manifest(of: manifest.version.description)
        } catch {
            if error.code == .noVersion { return .nothing }
            guard error.code == .badManifest || error.code == .tooLarge else { throw error }
            return .damaged
        }
        guard try there.contentAddress() == manifest.contentAddress() else {
            throw StoreError.versionExists(manifest.version.description)
        }
        return .same(there)
    }

    /// The older manifest of the same content; without what its publisher sent if that is lost, for which
    /// the version would wait in vain.
    private func keep(_ there: Manifest) throws(StoreError) -> ManifestFile {
        var there = there
        if let received = there.received, try !versions.store.contains(received.address) {
            there.received = nil
            let file = ManifestFile(versions, there, lease: lease)
            try file.write()
            try versions.store.syncAll()
            try file.replace()
            return file
        }
        return ManifestFile(versions, there, lease: lease)
    }

    /// Puts the manifest in the place of the one that stands there, durably.
    func replace() throws(StoreError) {
        try versions.fileSystem.rename(directory, aside, to: directory, name)
        try versions.store.sync(directory)
    }

    /// Removes what ``write()`` wrote.
    func discard() throws(StoreError) {
        try versions.fileSystem.removeIfPresent(directory, aside)
    }

    /// Takes the manifest away again: the version could not be recorded.
    func unpublish() throws(StoreError) {
        try versions.fileSystem.removeIfPresent(directory, name)
        try versions.store.sync(directory)
    }

    /// Puts the manifest in its place: the version is registered on disk.
    ///
    /// The caller makes it durable.
    /// - Returns: whether it was not there before, and the registration of the older manifest that
    ///   keeps its place, if one does: it has the same content, and its own number and time.
    /// - Throws: `.versionExists` if a manifest with other content is there.
    func publish() throws(StoreError) -> (isNew: Bool, kept: Registration?) {
        let fileSystem = versions.fileSystem
        while true {
            do throws(StoreError) {
                try fileSystem.renameNew(directory, aside, to: directory, name)
                return (true, nil)
            } catch {
                guard error.isExisting else { throw error }
            }
            switch try standing() {
            case .same(let there):
                // Registered before with the same content: it keeps its file.
                try fileSystem.removeIfPresent(directory, aside)
                return (false, try keep(there).registration())
            case .damaged:
                try fileSystem.rename(directory, aside, to: directory, name)
                return (false, nil)
            case .nothing: continue  // retired between the rename and the look
            }
        }
    }
}
