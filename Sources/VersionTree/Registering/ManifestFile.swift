import CASStore

/// The file of a version's manifest, on its way into `manifests/`.
struct ManifestFile {
    private let versions: VersionStore
    let manifest: Manifest
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

    func registration() throws(StoreError) -> Registration {
        var digester = try Digester(.sha256)
        try manifest.serialize(limits: versions.limits) { (piece) throws(StoreError) in
            piece.withUnsafeBytes { digester.update($0) }
        }
        return try manifest.registration(manifest: digester.finish { ObjectID(unchecked: $0) })
    }

    /// Writes the canonical bytes under a hidden name; the caller makes them durable.
    @discardableResult
    func write() throws(StoreError) -> HeldFile {
        let fileSystem = versions.fileSystem
        try fileSystem.removeIfPresent(directory, aside)
        do throws(StoreError) {
            let file = try fileSystem.open(directory, aside, .creating, mode: 0o444)
            try manifest.serialize(limits: versions.limits) { (piece) throws(StoreError) in
                try fileSystem.write(file.raw, piece)
            }
            try fileSystem.setMode(file.raw, 0o444)
            if !versions.store.canSyncAll { try versions.store.sync(file.raw) }
            return HeldFile(file)
        } catch {
            // Report the first error; a leftover is hidden and swept by the next write.
            try? fileSystem.removeIfPresent(directory, aside)
            throw error
        }
    }

    private enum State { case same(Manifest, Registration), damaged, nothing }

    /// Must not use the index.
    ///
    /// A manifest that is still unreadable at a second attempt has the same content, as the index says, or is all
    /// that is left of its version. It goes to quarantine, and this one takes its place.
    /// - Throws: `.versionExists` if a manifest with other content is there.
    private func state() throws(StoreError) -> State {
        let version = manifest.version.description
        let there: (manifest: Manifest, address: ObjectID, file: HeldFile)
        do throws(StoreError) {
            there = try versions.lookingAgain { () throws(StoreError) in
                try versions.addressedManifest(of: version)
            }
        } catch {
            if error.code == .noVersion { return .nothing }
            if error.isOfOneName {
                // One that is only missing permissions may be all that keeps objects, unless there is a tree.
                if !error.isUnreadable, try !versions.isMaterialized(version) { throw error }
                try versions.setDamagedManifestAside(version, unless: false)
                return .damaged
            }
            guard error.code == .badManifest || error.code == .tooLarge else { throw error }
            return .damaged
        }
        // By the bytes of the file, which need not be canonical.
        var registration = try there.manifest.registration(manifest: there.address)
        // A manifest rebuilt from a tree gives way to one that says at least as much.
        let isSuperior =
            there.manifest.recovered != nil
            || there.manifest.lacksFields
                && there.manifest.received?.address == manifest.received?.address
        if isSuperior, manifest.includes(there.manifest) { return .damaged }
        guard try registration.content == manifest.contentAddress() else {
            throw StoreError.versionExists(version)
        }
        registration.file = there.file
        return .same(there.manifest, registration)
    }

    /// Keeps the older manifest of the same content, but drops its publisher's manifest if that is lost and does not
    /// come now, because the version would wait for it in vain.
    private func keep(
        _ there: Manifest, _ registration: Registration
    ) throws(StoreError) -> Registration {
        guard let received = there.received, received.address != manifest.received?.address,
            try !versions.store.contains(received.address)
        else { return registration }
        var there = there
        there.received = nil
        let file = ManifestFile(versions, there, lease: lease)
        let written = try file.write()
        try versions.store.syncAll()
        try file.replace()
        var registration = try file.registration()
        registration.file = written
        return registration
    }

    /// Makes what was written durable, and lets `body` move it into place under the lifecycle lock, so that the
    /// version is neither made current nor retired meanwhile.
    /// - Parameter written: what ``write()`` wrote; removed if `body` throws.
    func replacing<R>(
        _ registration: Registration, by written: HeldFile,
        _ body: (Registration) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var registration = registration
        registration.file = written
        do throws(StoreError) {
            try versions.store.syncAll()
            return try versions.withLifecycleLocked { () throws(StoreError) -> R in
                try body(registration)
            }
        } catch {
            // Report the first error; a leftover is hidden and swept with the lease.
            try? discard()
            throw error
        }
    }

    func replace() throws(StoreError) {
        try versions.fileSystem.rename(directory, aside, to: directory, name)
        try versions.store.sync(directory)
    }

    /// Removes what ``write()`` wrote.
    func discard() throws(StoreError) {
        try versions.fileSystem.removeIfPresent(directory, aside)
    }

    /// Removes the manifest again, because the version could not be recorded.
    func unpublish() throws(StoreError) {
        try versions.fileSystem.removeIfPresent(directory, name)
        try versions.store.sync(directory)
    }

    /// Moves the manifest into place, which registers the version on disk; the caller makes that durable.
    /// - Parameters:
    ///   - registration: that of this manifest.
    ///   - written: what ``write()`` wrote.
    /// - Returns: whether it is new, and what to record of the file that is there now: an older manifest of the same
    ///   content keeps its place, ordinal and time.
    /// - Throws: `.versionExists` if a manifest with other content is there.
    func publish(
        _ registration: Registration, _ written: HeldFile
    ) throws(StoreError) -> (isNew: Bool, registration: Registration) {
        let fileSystem = versions.fileSystem
        var registration = registration
        registration.file = written
        while true {
            let renamed: Void? = try allowing(
                \.isExisting, try fileSystem.renameNew(directory, aside, to: directory, name))
            if renamed != nil { return (true, registration) }
            switch try state() {
            case .same(let there, let kept):
                // It was registered before with the same content and keeps its file.
                try fileSystem.removeIfPresent(directory, aside)
                return (false, try keep(there, kept))
            case .damaged:
                try fileSystem.rename(directory, aside, to: directory, name)
                return (false, registration)
            case .nothing: continue  // retired between the rename and the look
            }
        }
    }
}
