public import CASStore

/// Where a version stands.
public enum VersionState: String, Sendable, CaseIterable {
    /// Objects are missing.
    case incomplete
    /// All objects are there; the tree is not.
    case complete
    /// The tree is there.
    case materialized
}

/// One line of `castree versions`.
public struct VersionSummary: Sendable, Hashable {
    /// The version's name.
    public var version: String
    /// The address of its content, by which bans are kept.
    public var content: ObjectID
    /// Where it stands.
    public var state: VersionState
    /// Its files.
    public var files: Int
    /// Their bytes.
    public var bytes: Int64
    /// What retiring it would free.
    public var uniqueBytes: Int64
    /// Objects it lacks.
    public var missingObjects: Int
    /// When it was registered, in seconds since 1970.
    public var createdAt: Int64
    /// Whether it is shown.
    public var isCurrent: Bool
    /// Whether the next boot switches to it.
    public var isPending: Bool
    /// Whether it started well once.
    public var isKnownGood: Bool
    /// Whether it is banned.
    public var isBad: Bool
    /// Whether it was shipped with the app.
    public var isEmbedded: Bool
    /// Whether nobody and nothing may retire it.
    public var isProtected = false
}

/// An object that a version lacks.
public struct MissingEntry: Sendable, Hashable {
    /// Its address.
    public var address: ObjectID
    /// What the publisher calls it, if it has a name of its own.
    package var label: Label?
    /// Its size.
    public var bytes: Int64
    /// Where the version shows it.
    public var paths: [String]
}

extension VersionStore {
    /// The registered versions, newest first.
    public func versions() throws(StoreError) -> [VersionSummary] {
        let lifecycle = try lifecycle()
        var result: [VersionSummary] = []
        for (row, absent) in try store.versionRows() {
            // It may have all its objects, and one of another size than it promises.
            let missing =
                row.isComplete || absent > 0 ? absent : try wrongSizes(of: row.name).count
            let state: VersionState =
                !row.isComplete
                ? .incomplete : try isMaterialized(row.name) ? .materialized : .complete
            result.append(
                VersionSummary(
                    version: row.name, content: row.content, state: state,
                    files: Int(row.fileCount),
                    bytes: row.byteCount, uniqueBytes: row.uniqueByteCount,
                    missingObjects: missing, createdAt: row.createdAt,
                    isCurrent: lifecycle.current == row.name,
                    isPending: lifecycle.pending == row.name,
                    isKnownGood: lifecycle.knownGood.contains(row.name),
                    isBad: lifecycle.ban(of: row.content) != nil,
                    isEmbedded: lifecycle.embedded == row.name,
                    isProtected: lifecycle.protected.contains(row.name)))
        }
        return result
    }

    /// What a version lacks: what is still to be downloaded.
    /// - Throws: `.noVersion`.
    public func missing(of name: String) throws(StoreError) -> [MissingEntry] {
        guard var objects = try store.missingObjects(of: name) else { throw Self.noVersion(name) }
        if objects.isEmpty, try !row(of: name).isComplete { objects = try wrongSizes(of: name) }
        guard !objects.isEmpty else { return [] }
        var entries: [ObjectID: MissingEntry] = [:]
        for object in objects {
            entries[object.address] = MissingEntry(
                address: object.address, label: nil, bytes: object.byteCount, paths: [])
        }
        for entry in try manifest(of: name).entries where entries[entry.address] != nil {
            entries[entry.address]?.paths.append(entry.path.description)
            // Another version may promise another size of what is not there.
            entries[entry.address]?.bytes = entry.byteCount
            if let label = entry.labels.first { entries[entry.address]?.label = label }
        }
        return entries.values.sorted {
            ($0.paths.first ?? "", $0.address) < ($1.paths.first ?? "", $1.address)
        }
    }

    /// The objects of a version that are there and have another size than its manifest promises.
    ///
    /// None of a version whose manifest cannot be read.
    private func wrongSizes(of name: String) throws(StoreError) -> [MissingObject] {
        let manifest: Manifest
        do throws(StoreError) {
            manifest = try self.manifest(of: name)
        } catch {
            guard error.code == .badManifest || error.code == .noVersion else { throw error }
            return []
        }
        var promised: [ObjectID: Int64] = [:]
        for entry in manifest.entries { promised[entry.address] = entry.byteCount }
        var result: [MissingObject] = []
        for (address, byteCount) in promised {
            guard let status = try store.objects.status(address), status.byteCount != byteCount
            else { continue }
            result.append(MissingObject(address: address, byteCount: byteCount))
        }
        return result
    }

    /// Registers a version whose content may still be missing.
    ///
    /// From here on the store keeps what the version names, and ``missing(of:)`` says what must
    /// come.
    ///
    /// - Returns: whether the version is complete.
    /// - Throws: `.versionExists` if the name is taken by other content; `.mismatch` if it promises
    ///   another size than an object of the store has; `.outOfSpace`.
    @discardableResult
    public func register(_ manifest: Manifest) throws(StoreError) -> Bool {
        try recoverUnknownTree(manifest.version.description)
        let lease = try store.makeLease()
        var manifest = manifest
        if manifest.ordinal == 0 { manifest.ordinal = try store.nextOrdinal() }
        if manifest.createdAt == 0 { manifest.createdAt = secondsNow() }
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        _ = try store.claim(registration, lease: lease)
        while try !record(registration, in: file) {}
        return try row(of: manifest.version.description).isComplete
    }

    /// - Returns: `false` if the version was retired meanwhile, and all must be repeated.
    private func record(
        _ registration: Registration, in file: ManifestFile
    ) throws(StoreError) -> Bool {
        let promised = PromisedVersion(registration, file, try file.write())
        do throws(StoreError) {
            if case .settled = try store.settle(promised) { return true }
            return false
        } catch {
            // The error to report is the first; a leftover is hidden and swept with the lease.
            try? file.discard()
            throw error
        }
    }
}

/// A version whose content may still be missing, on its way into the index.
private final class PromisedVersion: UnrecordedVersion {
    let registration: Registration
    private let file: ManifestFile
    private let written: HeldFile
    private var isNew = false

    init(_ registration: Registration, _ file: ManifestFile, _ written: HeldFile) {
        self.registration = registration
        self.file = file
        self.written = written
    }

    var allowsMissing: Bool { true }
    var makesRoom: Bool { false }
    var sourceContents: EmptyCollection<(StatKey, ObjectID)> { EmptyCollection() }

    func knowledge(ofObjectAt position: Int) -> WriterKnowledge? { nil }

    func publish() throws(StoreError) -> Registration? {
        let published = try file.publish(registration, written)
        isNew = published.isNew
        return published.registration
    }

    func takeBack() throws(StoreError) {
        // Not recorded, so not acknowledged.
        if isNew { try file.unpublish() }
    }
}
