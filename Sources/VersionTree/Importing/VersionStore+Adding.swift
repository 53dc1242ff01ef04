public import CASStore
package import StrictJSON

/// How to add a directory.
public struct AddOptions: Sendable {
    /// Take what symbolic links point to; otherwise refuse them.
    public var followsLinks = false
    /// What to leave out, each by the rules of gitignore(5); the last that matches decides.
    ///
    /// They come before those in the source's `.castreeignore` files. What belongs to version control (`.git`) is left out
    /// unless a pattern names it: `!.git`.
    public var excluded: [String] = []
    /// Leave out what systems leave behind: `.DS_Store`, AppleDouble files, `__MACOSX`, `Thumbs.db`, `desktop.ini`.
    public var skipsJunk = false
    /// What to throw at a directory without files; `nil` takes it.
    ///
    /// A version of nothing is seldom meant.
    package var emptyRefusal: StoreError?
    /// Believe the stat cache about files that have not changed since they were last read.
    package var usesCache = true
    /// The time that the manifest records, in seconds since 1970.
    public var createdAt: Int64?
    /// Fields that the manifest keeps besides castree's own.
    package var foreign: [JSONValue.Member] = []
    /// What the manifest says of files besides their content; paths that do not exist are ignored.
    package var extras: [TreePath: Manifest.Extras] = [:]
    /// Called now and then, from any thread.
    package var progress: @Sendable (AddProgress) -> Void = { _ in }

    /// Refuses links, believes the cache, reports nothing.
    public init() {}
}

/// How far an add is.
package struct AddProgress: Sendable, Hashable {
    /// Files read, of those that must be.
    package var files: Int
    /// All files that must be read.
    package var filesTotal: Int
    /// Bytes read.
    package var bytes: Int64
    /// All bytes that must be read.
    package var bytesTotal: Int64
}

/// What an add did.
public struct AddReport: Sendable {
    /// The version.
    public let version: String
    /// Its files.
    public let files: Int
    /// Their bytes.
    public let bytes: Int64
    /// Objects that the store did not hold before.
    public let newObjects: Int
    /// Their bytes.
    public let newBytes: Int64
    /// Paths that a file system that folds case or Unicode would merge.
    ///
    /// This one keeps them apart.
    public let collisions: [PathCollision]
    /// Other versions that lacked objects and are complete now.
    public let healed: [String]
    /// What of the source was left out; a directory, of which all was, ends with a slash.
    public internal(set) var leftOut: [String] = []
    /// What was taken and looks as if it were not for users, such as `.env`; a directory ends with a slash.
    public internal(set) var unwanted: [String] = []
}

extension VersionStore {
    /// Imports a directory as a version: stores what is new, registers the manifest, materializes
    /// the tree.
    ///
    /// When it returns, all of it survives a power cut; if it throws, the version is not there and
    /// what was staged is gone.
    ///
    /// Adding the same content again under the same name changes nothing, and restores what was lost of
    /// it. If it is interrupted or killed, just repeat it; after `.interrupted`, what was read is
    /// neither read nor written again unless it was collected in between.
    /// - Throws: `.versionExists` if the name is taken by other content; `.unsupportedFile`,
    ///   `.badPath` (also for a pattern that can match nothing), `.pathCollision`, `.changedWhileRead` with the path; `.outOfSpace`, `.permission`,
    ///   `.interrupted`, and what the index throws.
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

    /// Imports a directory that was listed before the store existed; see
    /// ``add(directory:version:options:)``.
    @discardableResult
    package func add(
        _ listing: consuming DirectoryListing, version name: String,
        options: AddOptions = AddOptions()
    ) throws(StoreError) -> AddReport {
        let version = try VersionName(name)
        let lease = try store.makeLease()
        var options = options
        options.followsLinks = listing.followsLinks
        // Moved, not copied: the import changes them, and there may be a million.
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
