public import CASStore
package import StrictJSON

/// Options for adding a directory.
public struct AddOptions: Sendable {
    /// Takes what symbolic links point to; otherwise they are refused.
    public var followsLinks = false
    /// What to leave out, by the rules of gitignore(5); the last match decides.
    ///
    /// These patterns precede those of the source's `.castreeignore` files. Version control data (`.git`) is left out
    /// unless a pattern names it: `!.git`.
    public var excluded: [String] = []
    /// Leaves out `.DS_Store`, AppleDouble files, `__MACOSX`, `Thumbs.db` and `desktop.ini`.
    public var skipsJunk = false
    /// Thrown for a directory without files, which is seldom meant; `nil` accepts it.
    package var emptyRefusal: StoreError?
    /// Whether to trust the stat cache for files that look unchanged since they were last read.
    package var usesCache = true
    /// The time that the manifest records, in seconds since 1970.
    public var createdAt: Int64?
    /// Members to keep in the manifest besides castree's own.
    package var foreign: [JSONValue.Member] = []
    /// Extras of files for the manifest; paths that do not exist are ignored.
    package var extras: [TreePath: Manifest.Extras] = [:]
    /// Called repeatedly, from any thread.
    package var progress: @Sendable (AddProgress) -> Void = { _ in }

    /// Refuses links, trusts the cache, and reports no progress.
    public init() {}
}

/// The progress of an add; counts only files that must be read.
package struct AddProgress: Sendable, Hashable {
    package var files: Int
    package var filesTotal: Int
    package var bytes: Int64
    package var bytesTotal: Int64
}

/// The result of an add.
public struct AddReport: Sendable {
    /// The name of the version.
    public let version: String
    /// The number of its files.
    public let files: Int
    /// The total size of its files.
    public let bytes: Int64
    /// The number of objects that were new to the store.
    public let newObjects: Int
    /// The total size of the new objects.
    public let newBytes: Int64
    /// Paths that a file system that folds case or Unicode would merge, unlike this one.
    public let collisions: [PathCollision]
    /// Other versions that were missing objects and are now complete.
    public let healed: [String]
    /// Paths of the source that were left out; a directory left out whole ends with a slash.
    public internal(set) var leftOut: [String] = []
    /// Paths that were taken but look unfit for users, such as `.env`; a directory ends with a slash.
    public internal(set) var unwanted: [String] = []
}

extension VersionStore {
    /// Imports a directory as a version: stores new content, registers the manifest, materializes the tree.
    ///
    /// When it returns, all of it survives a power cut; if it throws, there is no such version and nothing stays
    /// staged.
    ///
    /// Adding the same content again under the same name changes nothing but restores lost parts. An add that was
    /// interrupted or killed can be repeated; after `.interrupted`, files already read are not read again unless they
    /// were collected in between.
    /// - Throws: `.versionExists` if the name is taken by other content; `.unsupportedFile`, `.badPath` (also for a
    ///   pattern that can match nothing), `.pathCollision`, `.changedWhileRead` with the path; `.outOfSpace`,
    ///   `.permission`, `.interrupted`, and what the index throws.
    @discardableResult
    public func add(
        directory path: String, version name: String, options: AddOptions = AddOptions()
    ) throws(StoreError) -> AddReport {
        let version = try VersionName(name)
        let root = try DirectoryListing.open(path, fileSystem.outside)
        let lease = try store.makeLease()
        let store = store
        var walk = DirectoryWalk(
            fileSystem: fileSystem.outside,
            checkInterruption: { () throws(StoreError) in try store.checkInterruption() },
            storeRoot: try fileSystem.status(directories.root.raw),
            followsLinks: options.followsLinks,
            rules: try SourceRules(
                excluding: options.excluded, skippingJunk: options.skipsJunk),
            countMax: limits.count)
        return try add(try walk.walk(root.raw), root, version, options, lease)
    }

    /// Imports a directory that was listed before the store existed; see ``add(directory:version:options:)``.
    @discardableResult
    package func add(
        _ listing: consuming DirectoryListing, version name: String,
        options: AddOptions = AddOptions()
    ) throws(StoreError) -> AddReport {
        let version = try VersionName(name)
        let lease = try store.makeLease()
        var options = options
        options.followsLinks = listing.followsLinks
        // Moved, not copied: the import changes the files, and there may be a million.
        var files = SourceFiles()
        swap(&files, &listing.files)
        return try add(files, listing.root, version, options, lease)
    }

    private func add(
        _ files: consuming SourceFiles, _ root: borrowing Descriptor, _ version: VersionName,
        _ options: AddOptions, _ lease: borrowing Lease
    ) throws(StoreError) -> AddReport {
        if files.count == 0, let refusal = options.emptyRefusal { throw refusal }
        var importing = Import(
            versions: self, root: root.raw, version: version, options: options, found: files)
        return try importing.run(lease)
    }
}
