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

    /// Replaces the manifest of a registered version and what the index says of it, in one transaction.
    ///
    /// Under the lifecycle lock, so that the version is neither made current nor retired meanwhile.
    /// - Parameters:
    ///   - registration: that of this manifest.
    ///   - acceptsContradictions: whether it may give an existing object another size.
    ///   - check: called once nobody can change the version, with its row, and before anything is changed; throws
    ///     if it may not be replaced.
    ///   - makeWay: called when the index has accepted the manifest; throws if another one is in its place by now.
    ///   - takesBack: whether the new manifest goes if the version could not be recorded: it would look like an edited
    ///     one.
    /// - Returns: whether the version is complete.
    /// - Throws: `.mismatch` if the manifest gives an existing object another size.
    func revise(
        _ registration: Registration, acceptsContradictions: Bool = false, takesBack: Bool = false,
        checking check: (VersionRow?) throws(StoreError) -> Void,
        makingWay makeWay: () throws(StoreError) -> Void = { () throws(StoreError) in }
    ) throws(StoreError) -> Bool {
        var registration = registration
        var isReplaced = false
        do throws(StoreError) {
            registration.file = try write()
            try versions.store.syncAll()
            return try versions.withLifecycleLocked { () throws(StoreError) -> Bool in
                do throws(StoreError) {
                    return try versions.store.revising { (transaction) throws(StoreError) -> Bool in
                        if !isReplaced { try check(transaction.version(registration.name)) }
                        try transaction.revise(
                            registration, acceptsContradictions: acceptsContradictions)
                        // After a rebuild of the index the transaction may run again.
                        if !isReplaced {
                            try makeWay()
                            try replace()
                        }
                        isReplaced = true
                        return try transaction.noteRevised(registration)
                    }
                } catch {
                    // Report the first error.
                    if isReplaced, takesBack { try? unpublish() }
                    throw error
                }
            }
        } catch {
            // Report the first error; a leftover is hidden and swept with the lease.
            try? discard()
            throw error
        }
    }

    private func replace() throws(StoreError) {
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

/// A version whose manifest, and tree if complete, are hidden files; moves them into place and records it.
final class PreparedVersion {
    private let versions: VersionStore
    private let file: ManifestFile
    private let registration: Registration
    private let written: HeldFile
    private let tree: String?
    private let makesSpace: Bool
    private let isRegistered: Bool
    private var published: Registration?
    /// Whether no manifest had the name before, so that this writer may remove it again.
    private var isNew = false
    private var isShown = false

    /// - Parameter tree: `nil` for a version whose content may still be missing.
    init(
        _ versions: VersionStore, _ registration: Registration, _ file: ManifestFile,
        _ written: HeldFile, _ tree: String?
    ) throws(StoreError) {
        // Freeing space for a stranger's tree may wait for other processes: do not do that while no one can write.
        let makesSpace =
            tree == nil ? false : try versions.hasSomething(inPlaceOf: registration.name)
        isRegistered =
            makesSpace ? try versions.store.versionRow(registration.name) != nil : false
        self.makesSpace = makesSpace
        self.registration = registration
        self.versions = versions
        self.file = file
        self.written = written
        self.tree = tree
    }

    /// Moves the files into place and records the version; what is still hidden after an error is removed.
    ///
    /// In this order: all that was written becomes durable, the files get their names, the index records them, and one
    /// more sync makes names and record durable together.
    /// - Parameters:
    ///   - knowledge: what the writer knows about the object at a position of the manifest; `nil` to register a
    ///     version of which objects may still be missing.
    ///   - cached: source files and their content, for the stat cache.
    /// - Returns: the versions that this completes; `nil` if everything must be repeated, because the same version
    ///   was retired meanwhile or an object was collected since it was looked at.
    func publishAndRecord(
        knowing knowledge: ((Int) -> WriterKnowledge?)? = nil,
        cached: some Sequence<(StatKey, ObjectID)>
    ) throws(StoreError) -> [String]? {
        let store = versions.store
        var indexVersion: IndexVersion?
        // Whether others could write since the manifest got its name.
        var isLate = makesSpace
        do throws(StoreError) {
            if makesSpace {
                try store.syncAll()
                try publish()
            }
            return try store.recording(
                rows: registration.references.count * 2, syncsFirst: !makesSpace, at: &indexVersion
            ) { (transaction) throws(StoreError) -> [String] in
                if !makesSpace { try transaction.sync() }
                // After a rebuild of the index the transaction may run again.
                if published == nil { try publish() }
                defer { isLate = true }
                return try transaction.record(
                    published ?? registration, mayBeAnother: isLate, knowing: knowledge,
                    cached: cached)
            }
        } catch {
            if error.code == .lost { return nil }
            // Report the first error; if this fails too, the version is whole and merely present.
            if isNew { try? store.undo(registration.name, since: indexVersion, takeBack) }
            discard()
            throw error
        }
    }

    // Links, tree and manifest are durable and only renamed from here on; their names are synced with the record.
    private func publish() throws(StoreError) {
        let published = try file.publish(registration, written)
        // A version that has lost its manifest is not new, so this writer must not remove its tree.
        isNew = published.isNew && !isRegistered
        if let tree {
            if makesSpace {
                try versions.publishTree(tree, of: file.manifest)
            } else {
                try publishNew(tree)
            }
            isShown = true
        }
        self.published = published.registration
    }

    /// Shows the tree while no one else can record the version, or takes back what it has shown.
    private func publishNew(_ tree: String) throws(StoreError) {
        do throws(StoreError) {
            if try versions.publishNew(tree, as: registration.name) { return }
        } catch {
            // Report the first error.
            try? takeBack()
            throw error
        }
        try takeBack()
        throw StoreError(.lost, "a name was taken meanwhile")
    }

    private func takeBack() throws(StoreError) {
        // Not recorded, so not acknowledged.
        guard isNew else { return }
        isNew = false
        // Report the error that led here; what remains is whole and does no harm.
        if tree != nil { try? versions.takeBackTree(of: registration.name) }
        try file.unpublish()
    }

    /// Removes what is still hidden: it is neither recorded nor acknowledged, and must not appear later.
    private func discard() {
        // Report the error that led here, hence `try?` for both.
        if let tree {
            try? versions.fileSystem.removeTree(versions.directories.versions.raw, tree)
        }
        try? file.discard()
        if !isNew, isShown, (try? isInPlace()) == false {
            // The manifest was replaced meanwhile, and the tree does not match the new one. Report the first error.
            try? versions.removeTree(of: registration.name, shown: false)
        }
    }

    private func isInPlace() throws(StoreError) -> Bool {
        guard let row = try versions.store.versionRow(registration.name) else { return false }
        return row.isComplete && row.content == registration.content
    }
}
