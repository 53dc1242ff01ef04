import CASStore

/// A version that an add has prepared: its manifest and tree are written under hidden names.
///
/// ``Store/settle(_:)`` gives them their names and records the version.
final class PreparedVersion: UnrecordedVersion {
    let registration: Registration
    let makesRoom: Bool
    private let versions: VersionStore
    private let manifest: Manifest
    private let file: ManifestFile
    private let written: HeldFile
    private let tree: HiddenTree
    private let found: SourceFiles
    private let isRegistered: Bool
    /// Whether the manifest with its name was not there before, so that this writer may take it back.
    private var isNew = false
    private var isShown = false

    init(
        _ versions: VersionStore, _ manifest: Manifest, _ registration: Registration,
        _ file: ManifestFile, _ written: HeldFile, _ tree: HiddenTree, _ found: SourceFiles
    ) throws(StoreError) {
        // Somebody's tree makes room, which may wait for others: do not do that while nobody can write.
        let makesRoom = try versions.hasSomething(inPlaceOf: registration.name)
        isRegistered =
            makesRoom ? try versions.store.versionRow(registration.name) != nil : false
        self.makesRoom = makesRoom
        self.registration = registration
        self.versions = versions
        self.manifest = manifest
        self.file = file
        self.written = written
        self.tree = tree
        self.found = found
    }

    var allowsMissing: Bool { false }

    var sourceContents: some Sequence<(StatKey, ObjectID)> { found.cacheable }

    func knowledge(ofObjectAt position: Int) -> WriterKnowledge? {
        // An older manifest that is kept may name one more: what its publisher sent.
        guard position < found.count, found.marks[position].isHashed else { return nil }
        let mark = found.marks[position]
        return WriterKnowledge(
            fingerprint: found.states[position].fingerprint,
            hasMadeSure: mark.isStaged || mark.isEnsured)
    }

    // Links, tree and manifest are durable, and from here on only renamed; their names become durable
    // together with the record.
    func publish() throws(StoreError) -> Registration? {
        let published = try file.publish(registration, written)
        // A version that has lost its manifest is not new, so this writer must not take back its tree.
        isNew = published.isNew && !isRegistered
        if makesRoom {
            try versions.publishTree(tree, of: manifest)
        } else {
            guard try publishNew() else { return nil }
        }
        isShown = true
        return published.registration
    }

    /// Shows the tree while nobody else can record the version, or takes back what it has shown.
    private func publishNew() throws(StoreError) -> Bool {
        do throws(StoreError) {
            if try versions.publishNew(tree, as: registration.name) { return true }
        } catch {
            // The error to report is the first.
            try? takeBack()
            throw error
        }
        try takeBack()
        return false
    }

    func takeBack() throws(StoreError) {
        guard isNew else { return }
        isNew = false
        // The error to report is the one that led here; what remains is whole and does no harm.
        try? versions.takeBackTree(of: registration.name)
        try file.unpublish()
    }

    /// Removes what is still hidden: it is neither recorded nor acknowledged, and must not appear later.
    func discard() {
        // The error to report is the one that led here, so `try?` for both.
        try? versions.fileSystem.removeTree(versions.directories.versions.raw, tree.name)
        try? file.discard()
        if !isNew, isShown, (try? isStanding()) == false {
            // The manifest was replaced meanwhile, and the tree does not show what the new one
            // says. The error to report is the first.
            try? versions.removeTree(of: registration.name, shown: false)
        }
    }

    /// Whether the version is registered with this content, whole.
    private func isStanding() throws(StoreError) -> Bool {
        guard let row = try versions.store.versionRow(registration.name) else { return false }
        return row.isComplete && row.content == registration.content
    }
}
