import Synchronization

// Creates and opens stores.

extension Store {
    /// The format that this castree writes, and the newest it reads.
    package static let formatVersion = 1

    /// Creates a store, or opens the existing one.
    ///
    /// A crash in the middle is repaired by the next call: FORMAT is written last.
    /// - Returns: the store, and whether this call created it.
    /// - Throws: `.storeExists` if the directory holds something else; `.unsupported` on a disk without hard links;
    ///   what opening throws.
    package static func create(
        at path: String, options: StoreOptions, manifests: any ManifestReading,
        fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) -> (store: Store, isNew: Bool) {
        try refuseUnmakeable(path)
        try makeParents(of: path, fileSystem)
        let isOurs = try makeDirectory(path, fileSystem)
        if let there = try fileSystem.status(POSIXFileSystem.workingDirectory, path),
            there.kind == .regular
        {
            throw StoreError(
                .storeExists, "\(printable(path)) is a file; give an empty or new directory")
        }
        let root = try openRoot(path, fileSystem)
        let outside = fileSystem
        let fileSystem = try OwnersFileSystem.around(outside, root: root.raw, of: path)
        if try fileSystem.status(root.raw, StoreLayout.format) != nil {
            let store = try open(
                path, options: options, manifests: manifests, fileSystem: outside)
            // The process that made it may have been killed before its names were durable.
            try store.sync(root.raw)
            try store.syncParent(of: path)
            return (store, false)
        }
        try fileSystem.list(root.raw) { (entry, _) throws(StoreError) in
            let name = String(cString: entry)
            guard
                StoreLayout.topLevelNames.contains(name) || name.hasPrefix(".\(StoreLayout.format)")
                    || StoreLayout.isSetAside(name) || name == FileStatus.foundFiles
            else {
                throw StoreError(
                    .storeExists,
                    "\(printable(path)) is not empty and not a store (it holds \(printable(name))); "
                        + "give an empty or new directory")
            }
            return true
        }
        for name in StoreLayout.directories {
            try fileSystem.makeDirectoryIfAbsent(root.raw, name)
        }
        let raw = root.raw
        let store = Store(
            path: path, options: options, fileSystem: fileSystem,
            directories: try StoreDirectories(fileSystem, root: root), manifests: manifests)
        do throws(StoreError) {
            try store.makeReserve()
            try store.makeIndex()
            try store.tryLinks()
            try fileSystem.replaceFile(
                raw, StoreLayout.format, with: Array("castree \(formatVersion)\n".utf8),
                token: try randomToken(), durably: options.isDurable)
            try store.syncParent(of: path)
        } catch {
            // Half a store is useless, unless another process is making it. Report the first error.
            if ![.locked, .interrupted].contains(error.code) {
                _ = try? store.removeUnlessUsed(unfinished: true, withRoot: isOurs)
            }
            throw error
        }
        return (store, true)
    }

    private func makeIndex() throws(StoreError) {
        let root = directories.root.raw
        try index { (index) throws(StoreError) in
            guard try fileSystem.status(root, StoreLayout.index) == nil else { return }
            try index.locks.lock(.rebuilding)
            defer { index.locks.unlock() }
            if try fileSystem.status(root, StoreLayout.index) == nil { try index.create() }
        }
    }

    /// Opens a store.
    /// - Throws: `.noStore` if there is none; `.unsupportedFormat` if it is newer than this castree.
    package static func open(
        _ path: String, options: StoreOptions, manifests: any ManifestReading,
        fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) -> Store {
        let root = try openRoot(path, fileSystem)
        let fileSystem = try OwnersFileSystem.around(fileSystem, root: root.raw, of: path)
        try checkFormat(root.raw, path, fileSystem)
        return Store(
            path: path, options: options, fileSystem: fileSystem,
            directories: try StoreDirectories(fileSystem, root: root), manifests: manifests)
    }

    private static func noStore(_ path: String) -> StoreError {
        StoreError(.noStore, "no store at \(printable(path)); create one with castree init")
    }

    static func openRoot(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .typedDirectory, mode: 0)
        } catch {
            if error.code == .notFound { throw noStore(path) }
            guard error.isNotDirectory else { throw error }
            throw StoreError(
                .noStore, "\(printable(path)) is not a directory; give the directory of a store",
                cause: error.cause)
        }
    }

    static func checkFormat(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let bytes: [UInt8]
        do throws(StoreError) {
            bytes = try fileSystem.contents(root, StoreLayout.format, limit: 4096)
        } catch {
            if error.code == .notFound { throw noStore(path) }
            if error.isUnreadable {
                throw error.advising(
                    "it says that this is a store: move it away, and castree init writes the file again"
                )
            }
            guard let there = try fileSystem.status(root, StoreLayout.format),
                there.kind != .regular
            else { throw error }
            throw StoreError(
                error.code,
                "\(there.kind.noun) stands in place of \(printable(path))/FORMAT, which says that this is a store; "
                    + "move it away, and castree init writes the file again", cause: error.cause)
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let fields = text.split(whereSeparator: { $0 == " " || $0 == "\n" })
        guard fields.count == 2, fields[0] == "castree", let version = Int(fields[1]), version > 0
        else {
            throw StoreError(
                .unsupportedFormat,
                "\(printable(path))/FORMAT does not say \"castree \(formatVersion)\"; "
                    + "if this is a store of castree, move that file away, and castree init writes it again"
            )
        }
        guard version <= formatVersion else {
            throw StoreError(
                .unsupportedFormat,
                "the store \(printable(path)) has format \(version); this castree knows formats up "
                    + "to \(formatVersion); use a newer castree")
        }
    }

    /// Refuses a path that is too long for system calls, before any of it is created (limits.h: PATH_MAX, NAME_MAX).
    private static func refuseUnmakeable(_ path: String) throws(StoreError) {
        let longest = path.utf8.split(separator: 47).map(\.count).max() ?? 0
        guard path.utf8.count < 4096, longest <= 255 else {
            throw StoreError(
                .tooLarge,
                "the path of the store has \(path.utf8.count) bytes, its longest name \(longest); systems take 4095 "
                    + "and 255: give a shorter one")
        }
    }

    /// Makes a directory if it is missing; root makes it for the owner of the one above, who will use the store.
    /// - Returns: whether this call made it.
    private static func makeDirectory(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        try fileSystem.atTyped(path) { (above, name) throws(StoreError) in
            // The maker of a store decides who may look into it at all.
            func make(_ fileSystem: any FileSystem) throws(StoreError) -> Bool {
                try fileSystem.makeDirectoryIfAbsent(above, name, mode: 0o755, cutByUmask: true)
            }
            let owners = try OwnersFileSystem.around(fileSystem, root: above, of: path)
            // What the owner may not make there, or nobody as the owner, is root's.
            let isMade = try allowing(
                { [.notOwner, .permission].contains($0.code) }, try make(owners))
            return if let isMade { isMade } else { try make(fileSystem) }
        }
    }

    private static func makeParents(
        of path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        var prefix = path.hasPrefix("/") ? "/" : ""
        for component in path.split(separator: "/").dropLast() {
            prefix += prefix.isEmpty || prefix.hasSuffix("/") ? component : "/" + component
            do throws(StoreError) {
                _ = try makeDirectory(prefix, fileSystem)
            } catch {
                // An existing directory in which we may not write answers EACCES or EROFS.
                let status = try fileSystem.status(POSIXFileSystem.workingDirectory, prefix)
                guard let status, status.kind != .regular else { throw error }
            }
        }
    }

    // A directory is durable once its parent's entry is. If its owner may not enter the parent, or this user may not
    // list it, the whole disk is synced.
    private func syncParent(of path: String) throws(StoreError) {
        try sync(directories.root.raw)
        let parent: Descriptor
        do throws(StoreError) {
            parent = try fileSystem.outside.open(
                directories.root.raw, "..", .directoryFollowingLinks, mode: 0)
        } catch {
            guard error.code == .permission else { throw error }
            return try syncAll()
        }
        try sync(parent.raw)
    }

    // MARK: The reserve: space set aside so that collecting works on a completely full disk

    static let reserveByteCount: Int64 = 2 << 20

    /// Sets the reserve aside if it is not there; a disk too full for it goes without.
    package func makeReserve() throws(StoreError) {
        if let status = try fileSystem.status(directories.root.raw, StoreLayout.reserve),
            status.byteCount >= Self.reserveByteCount
        {
            return
        }
        do throws(StoreError) {
            let file = try fileSystem.open(
                directories.root.raw, StoreLayout.reserve, .updating, mode: 0o600)
            try fileSystem.reserve(file.raw, Self.reserveByteCount)
        } catch {
            guard error.code == .outOfSpace else { throw error }
            try releaseReserve()
        }
    }

    package func releaseReserve() throws(StoreError) {
        try fileSystem.removeIfPresent(directories.root.raw, StoreLayout.reserve)
    }

    /// Runs work that frees space; on a full disk it runs with the reserve released.
    /// - Parameter mayRepeat: whether it may run once more: a used-up quota is noticed only where a call fails
    ///   (EDQUOT; statvfs(3) shows the whole disk).
    package func withReserve<R>(
        mayRepeat: () -> Bool = { true }, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let space = try fileSystem.freeSpace(directories.root.raw)
        // The reserve is a file, too: without it a lease can be made when no inode is left.
        let isFull =
            space.available < Self.reserveByteCount * 2 || space.files.map { $0 < 8 } ?? false
        if !isFull {
            do throws(StoreError) { return try body() } catch {
                // After a failed sync the work may have been done, and nothing more is written.
                guard error.code == .outOfSpace, mayRepeat(), (try? checkWritable()) != nil else {
                    throw error
                }
            }
        }
        try releaseReserve()
        let result: R
        do throws(StoreError) {
            result = try body()
        } catch {
            // Report the first error; a disk too full for the reserve goes without.
            try? makeReserve()
            throw error
        }
        try makeReserve()
        return result
    }

    // MARK: What the file system of a store can do, tried on a file of its own

    /// Whether files here keep the modes that they are given; tried once, and told where they do not.
    ///
    /// Where all files have one mode (ntfs-3g, SMB, WSL's drives), chmod(2) says that it succeeded, and changes nothing.
    package var keepsModes: Bool {
        triedModes.withLock { tried in
            if let tried { return tried }
            // Where nothing can be written, modes are judged as they are.
            let isKept = (try? tryModes()) ?? true
            if !isKept {
                options.notice(
                    "all files have one mode on the file system of \(path), so castree cannot protect its files "
                        + "from writing; what is in them is verified all the same")
            }
            tried = isKept
            return isKept
        }
    }

    private func tryModes() throws(StoreError) -> Bool {
        try trying { (file, _, _) throws(StoreError) in
            // No file has it, and it is open to its owner, so what is left of this is nothing wrong.
            try fileSystem.setMode(file, 0o601)
            return try fileSystem.status(file).mode == 0o601
        }
    }

    /// - Throws: `.unsupported` where there are no hard links.
    func tryLinks() throws(StoreError) {
        try trying { (file, leases, name) throws(StoreError) in
            do throws(StoreError) {
                guard try fileSystem.lock(file, exclusive: true) else { return }
                try fileSystem.link(leases, name, to: leases, name + "2")
            } catch {
                // A writer that is here already, and has tried it, was faster than the lock.
                if error.code == .notFound { return }
                guard error.isLinkRefused else { throw error }
                let told = error.advising(
                    "the file system of \(printable(path)) has no hard links, which the versions of a store consist "
                        + "of; choose a place on another one (df -T lists them)")
                throw StoreError(.unsupported, told.message, cause: error.cause)
            }
        }
    }

    /// A file as of a lease that is being made: the next writer removes what is left of it.
    private func trying<Answer>(
        _ attempt: (_ file: Int32, _ leases: Int32, _ name: String) throws(StoreError) -> Answer
    ) throws(StoreError) -> Answer {
        let (leases, name) = (directories.leases.raw, StoreLayout.newLease(try randomToken()))
        let file = try fileSystem.open(leases, name, .updating, mode: 0o600)
        // As above.
        defer { for name in [name, name + "2"] { try? fileSystem.removeIfPresent(leases, name) } }
        return try attempt(file.raw, leases, name)
    }
}
