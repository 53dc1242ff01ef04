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

    var rules: SourceRules {
        get throws(StoreError) { try SourceRules(excluding: excluded, skippingJunk: skipsJunk) }
    }
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
        let (store, version) = (store, try VersionName(name))
        let listing = try DirectoryListing(
            of: path, options, fileSystem.outside,
            besides: try fileSystem.status(directories.root.raw), countMax: limits.count
        ) { () throws(StoreError) in try store.checkInterruption() }
        return try add(listing, as: version)
    }

    /// Imports a listed directory, perhaps listed before the store existed; see ``add(directory:version:options:)``.
    package func add(
        _ listing: consuming DirectoryListing, as version: VersionName
    ) throws(StoreError) -> AddReport {
        let lease = try store.makeLease()
        var importing = Import(self, version, listing)
        return try importing.run(lease)
    }

    /// Ends every add: records the version and reports the result.
    /// - Parameters:
    ///   - bring: reserves what the version names and creates missing objects and executable copies; `true` marks a
    ///     repetition. Returns the source files, as far as there are any, and what was left out.
    ///   - ended: called when the version is recorded.
    func finishAdding(
        _ manifest: Manifest, _ lease: borrowing Lease,
        bringing bring: (Registration, Bool) throws(StoreError) -> SourceFiles,
        ended: () -> RecordedObjects
    ) throws(StoreError) -> AddReport {
        let name = manifest.version.description
        let collisions = try refuseCollisions(of: manifest)
        let file = ManifestFile(self, manifest, lease: lease.name)
        let registration = try file.registration()
        var found = SourceFiles()
        var completed: [String]?
        do throws(StoreError) {
            // Repeats only if the version was retired, or something collected, between the look-up and the reservation.
            for attempt in 0...8 where completed == nil {
                found = try bring(registration, attempt > 0)
                try recoverUnknownTree(name, for: registration.content)
                let written = try file.write()
                // An object may have gone since it was looked at.
                let tree = try allowing(
                    { $0.code == .missingObject },
                    try buildTree(of: manifest, lease: lease, trusting: true))
                guard let tree else { continue }
                completed = try PreparedVersion(self, registration, file, written, tree)
                    .publishAndRecord(knowing: found.knowledge(of:), cached: found.cacheable)
            }
        } catch {
            // A name that differs in case, or an unreadable manifest: the error already says all there is to say.
            guard error.code == .versionExists, let old = try? self.manifest(of: name) else {
                throw error
            }
            throw StoreError(
                .versionExists, VersionDiff(from: old, to: manifest).whyTaken(name))
        }
        guard let completed else {
            throw StoreError(
                .busy,
                "version \(name) is retired or repaired over and over by another process; "
                    + "repeat the command when it has ended")
        }
        let new = ended()
        let report = AddReport(
            version: name, files: manifest.count, bytes: manifest.byteCount, newObjects: new.count,
            newBytes: new.byteCount, collisions: collisions,
            healed: try restoreTrees(of: new.completed + completed, except: name),
            leftOut: found.leftOut, unwanted: found.unwanted)
        note(
            .added(
                version: name, files: report.files, bytes: report.bytes,
                newObjects: report.newObjects, newBytes: report.newBytes))
        return report
    }
}

struct RecordedObjects {
    var count = 0
    var byteCount: Int64 = 0
    var completed: [String] = []
}

/// A listed directory whose files are not yet read, so that a bad one is refused before a store is created.
package struct DirectoryListing: ~Copyable, Sendable {
    let root: Descriptor
    let options: AddOptions
    var files: SourceFiles

    /// - Parameter isInterrupted: polled; `true` stops with `.interrupted`.
    /// - Throws: `.notFound`; `.unsupportedFile`, `.badPath` with the path; `.permission`, `.interrupted`; for a
    ///   directory without files ``AddOptions/emptyRefusal``.
    package init(
        of path: String, _ options: AddOptions, isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) {
        try self.init(of: path, options, POSIXFileSystem()) { () throws(StoreError) in
            if isInterrupted() { throw StoreError.interruption }
        }
    }

    /// - Parameters:
    ///   - storeRoot: the directory of the store, which must not be in the listed one, nor around it.
    ///   - countMax: how many files a version may have.
    init(
        of path: String, _ options: AddOptions, _ fileSystem: any FileSystem,
        besides storeRoot: FileStatus? = nil, countMax: Int = Manifest.countMax,
        checkInterruption: @escaping @Sendable () throws(StoreError) -> Void
    ) throws(StoreError) {
        let root = try Self.open(path, fileSystem)
        var walk = DirectoryWalk(
            fileSystem: fileSystem, checkInterruption: checkInterruption, storeRoot: storeRoot,
            followsLinks: options.followsLinks, rules: try options.rules, countMax: countMax)
        let files = try walk.walk(root.raw)
        if files.count == 0, let refusal = options.emptyRefusal { throw refusal }
        self.root = root
        self.options = options
        self.files = files
    }

    private static func open(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            if error.isNotDirectory {
                throw StoreError(
                    .unsupportedFile,
                    "\(printable(path)) is not a directory; give the directory of a release",
                    cause: error.cause)
            }
            if error.code == .notFound {
                throw StoreError(
                    .notFound, "there is no directory \(printable(path))", cause: error.cause)
            }
            throw error
        }
    }
}
