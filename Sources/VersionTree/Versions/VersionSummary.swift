public import CASStore

/// The state of a version.
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
    /// Its state.
    public var state: VersionState
    /// The number of its files.
    public var files: Int
    /// The total size of its files.
    public var bytes: Int64
    /// What retiring it would free.
    public var uniqueBytes: Int64
    /// The number of its missing objects.
    public var missingObjects: Int
    /// When it was registered, in seconds since 1970.
    public var createdAt: Int64
    /// Whether it is shown.
    public var isCurrent: Bool
    /// Whether the next boot switches to it.
    public var isPending: Bool
    /// Whether it has ever started well.
    public var isKnownGood: Bool
    /// Whether it is banned.
    public var isBad: Bool
    /// Whether it was shipped with the app.
    public var isEmbedded: Bool
    /// Whether it is protected from being retired.
    public var isProtected = false
}

/// A missing object of a version.
public struct MissingEntry: Sendable, Hashable {
    /// Its address.
    public var address: ObjectID
    /// The publisher's name for it, if there is one.
    package var label: Label?
    /// Its size; 0 if unknown.
    public var bytes: Int64
    /// Whether `bytes` is its size: only the empty content has size 0, and it has an address of its own.
    package var isSizeKnown: Bool { bytes > 0 || address == .ofNothing }
    package var paths: [String]
}

extension VersionStore {
    /// The registered versions, newest first.
    public func versions() throws(StoreError) -> [VersionSummary] {
        try versions(by: lifecycle())
    }

    /// The registered versions, newest first, with their state by a given lifecycle, even if the stored one is
    /// damaged.
    package func versions(by lifecycle: Lifecycle) throws(StoreError) -> [VersionSummary] {
        var result: [VersionSummary] = []
        for (row, absent) in try store.versionRows() {
            // All its objects may exist, one of them with another size than the manifest promises.
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

    /// The missing objects of a version, which are still to be downloaded.
    /// - Throws: `.noVersion`.
    public func missing(of name: String) throws(StoreError) -> [MissingEntry] {
        guard var objects = try store.missingObjects(of: name) else {
            throw StoreError.noVersion(name)
        }
        if objects.isEmpty, try !row(of: name).isComplete { objects = try wrongSizes(of: name) }
        guard !objects.isEmpty else { return [] }
        var entries: [ObjectID: MissingEntry] = [:]
        for object in objects {
            entries[object.address] = MissingEntry(
                address: object.address, label: nil, bytes: object.byteCount, paths: [])
        }
        for entry in try manifest(of: name).entries where entries[entry.address] != nil {
            entries[entry.address]?.paths.append(entry.path.description)
            // For missing objects, another version may promise another size.
            entries[entry.address]?.bytes = entry.byteCount
            if let label = entry.labels.first { entries[entry.address]?.label = label }
        }
        return entries.values.sorted {
            ($0.paths.first ?? "", $0.address) < ($1.paths.first ?? "", $1.address)
        }
    }

    /// An object of a version that has neither the promised size nor the bytes of its address.
    func wrongObject(of name: String) throws(StoreError) -> ObjectID? {
        var checker = try ObjectChecker()
        for one in try wrongSizes(of: name) {
            if try !store.objects.isSound(one.address, checker: &checker) { return one.address }
        }
        return nil
    }

    /// Existing objects with another size than the manifest promises; none if the manifest cannot be read.
    private func wrongSizes(of name: String) throws(StoreError) -> [Reference] {
        guard let manifest = try readableManifest(of: name) else { return [] }
        var promised: [ObjectID: Int64] = [:]
        for entry in manifest.entries { promised[entry.address] = entry.byteCount }
        var result: [Reference] = []
        for (address, byteCount) in promised {
            guard let status = try store.objects.status(address), status.byteCount != byteCount
            else { continue }
            result.append(Reference(address: address, byteCount: byteCount))
        }
        return result
    }
}
