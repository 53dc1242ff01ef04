public import CASStore

/// The main interface of the module: versions over a store.
///
/// Synchronous and thread-safe; any number of processes may use one store at once.
public final class VersionStore: Sendable {
    /// The object store underneath.
    public let store: Store
    /// Called with what the verbs do; see ``observed(by:)``.
    package let observer: (@Sendable (StoreEvent) -> Void)?
    let limits: Manifest.Limits

    package init(
        _ store: Store, observer: (@Sendable (StoreEvent) -> Void)? = nil,
        limits: Manifest.Limits = Manifest.Limits()
    ) {
        self.store = store
        self.observer = observer
        self.limits = limits
    }

    /// Opens the store in a directory.
    /// - Throws: `.noStore` if there is none; `.unsupportedFormat` if it is newer than this castree; `.permission`,
    ///   `.io`.
    public static func open(
        _ path: String, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> VersionStore {
        VersionStore(
            try Store.open(path, options: options, manifests: StoredManifests()))
    }

    /// Creates a store, or opens the existing one.
    /// - Returns: the store, and whether this call created it.
    /// - Throws: `.storeExists` if the directory holds something else; what opening throws.
    public static func create(
        at path: String, options: StoreOptions = StoreOptions()
    ) throws(StoreError) -> (versions: VersionStore, isNew: Bool) {
        let (store, isNew) = try Store.create(
            at: path, options: options, manifests: StoredManifests())
        return (VersionStore(store), isNew)
    }

    package var fileSystem: any FileSystem { store.fileSystem }
    package var directories: StoreDirectories { store.directories }

    /// - Throws: `.noVersion`.
    func row(of name: String) throws(StoreError) -> VersionRow {
        guard let row = try store.versionRow(name) else { throw StoreError.noVersion(name) }
        return row
    }

    /// Whether the version's tree is in `versions/`.
    /// - Throws: `.badName` for a text that is no version name.
    package func isMaterialized(_ name: String) throws(StoreError) -> Bool {
        let version = try VersionName(name).description
        return try fileSystem.status(directories.versions.raw, version)?.kind == .directory
    }
}
