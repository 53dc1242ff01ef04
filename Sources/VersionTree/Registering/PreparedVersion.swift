import CASStore

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
    /// - Parameters:
    ///   - knowledge: what the writer knows about the object at a position of the manifest; `nil` to register a
    ///     version of which objects may still be missing.
    ///   - cached: source files and their content, for the stat cache.
    /// - Returns: the versions that this completes; `nil` if everything must be repeated, because the same version
    ///   was retired meanwhile or an object was collected since it was looked at.
    func record(
        knowing knowledge: ((Int) -> WriterKnowledge?)? = nil,
        cached: some Sequence<(StatKey, ObjectID)>
    ) throws(StoreError) -> [String]? {
        var indexVersion: IndexVersion?
        // Whether others could write since the manifest got its name.
        var isLate = makesSpace
        do throws(StoreError) {
            if makesSpace { try prepare() }
            return try versions.store.record(
                {
                    defer { isLate = true }
                    return (published ?? registration, isLate)
                }, rows: registration.references.count * 2, knowing: knowledge, cached: cached,
                preparing: makesSpace ? nil : prepare, at: &indexVersion)
        } catch {
            if error.code == .lost { return nil }
            // Report the first error; if this fails too, the version is whole and merely present.
            if isNew { try? versions.store.undo(registration.name, since: indexVersion, takeBack) }
            discard()
            throw error
        }
    }

    /// Makes all that is written durable, and moves it into place.
    private func prepare() throws(StoreError) {
        try versions.store.syncAll()
        // After a rebuild of the index the transaction may run again.
        guard published == nil else { return }
        published = try publish()
        if published == nil { throw StoreError(.lost, "a name was taken meanwhile") }
    }

    // Links, tree and manifest are durable and only renamed from here on; their names are synced with the record.
    private func publish() throws(StoreError) -> Registration? {
        let published = try file.publish(registration, written)
        // A version that has lost its manifest is not new, so this writer must not remove its tree.
        isNew = published.isNew && !isRegistered
        guard let tree else { return published.registration }
        if makesSpace {
            try versions.publishTree(tree, of: file.manifest)
        } else {
            guard try publishNew(tree) else { return nil }
        }
        isShown = true
        return published.registration
    }

    /// Shows the tree while no one else can record the version, or takes back what it has shown.
    private func publishNew(_ tree: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            if try versions.publishNew(tree, as: registration.name) { return true }
        } catch {
            // Report the first error.
            try? takeBack()
            throw error
        }
        try takeBack()
        return false
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
