import CASStore
import HotPush
import Storage
import VersionTree

/// A directory of this machine for an origin, which may not exist yet.
///
/// Publishers on all machines that share the directory may write at once, through its log (`docs/buckets.md`).
struct OriginDirectory {
    let path: String
    let options: PublisherOptions
    let fileSystem: any FileSystem
    var isRepairing = false

    // As usual, the umask decides whether the group may write. 022 leaves 0644 and 0755, which web servers can read.
    private static let directoryMode: UInt32 = 0o777

    /// - Parameter isCreating: whether to create a missing directory; its parent must exist.
    /// - Throws: `.noOrigin`; `.badOrigin` for a directory that is something else; `.unsupportedFormat`;
    ///   `.insideStore`.
    func open(isCreating: Bool) throws(StoreError) -> DirectoryStorage {
        try refuseInsideStore()
        let root = try openRoot(isCreating: isCreating)
        let fileSystem = try fileSystem.owners(of: root.raw, path)
        try Self.refuseLinks(
            root.raw, fileSystem,
            but: options.isWithdrawing ? OriginLayout.unneededToWithdraw : [])
        // Before anything is created in a directory that may be somebody else's.
        try checkIsOurs(root.raw, isCreating: isCreating, fileSystem)
        let rights = try Self.rights(in: root.raw, fileSystem)
        if options.verifiesObjects { try mendRights(root.raw, rights, fileSystem) }
        try dropLeftovers(root.raw, fileSystem)
        let lost = try OriginMarker.remade(root.raw, fileSystem)
        let storage = try storage(root, rights, fileSystem)
        // The log alone makes it an origin, but readers look for the marker. A repair writes it later.
        if let lost, !isRepairing {
            _ = try storage.put(OriginLayout.marker, StorageBody(lost), .pointer)
        }
        if isCreating, let work = storage.work { OriginReserve.make(in: work) }
        return storage
    }

    /// Removes what dead publishers have left; a file that stays prevents neither publishing nor withdrawing.
    private func dropLeftovers(_ root: Int32, _ fileSystem: any FileSystem) throws(StoreError) {
        // Whoever needs the directory reports a foreign file in its place.
        let opened = try allowing(
            \.isOfPlace, try fileSystem.openIfPresent(root, OriginLayout.work, .directory))
        guard let work = opened else { return }
        let stays = { (left: String, reason: StoreError) in
            options.notice(
                "\(OriginLayout.work)/\(printable(left)) in \(printable(path)) was left by a publisher that has ended, "
                    + "and stays: \(reason.message)")
        }
        if let reason = try fileSystem.removeLeftover(work.raw, OriginLayout.staging) {
            stays(OriginLayout.staging, reason)
        }
        // A foreign lock, or anything else in its place, is reported when somebody packs.
        try allowing(
            \.isOfPlace, try PackingPlace.dropLeftovers(in: work.raw, fileSystem, stays: stays))
    }

    /// Gives everything that readers need the marker's rights, and reports what belongs to another user.
    private func mendRights(
        _ root: Int32, _ rights: UInt32, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let closed = try closedPlaces(root, rights, opens: true, fileSystem)
        let mendedCount = closed.count { $0.isOpened }
        if mendedCount > 0 {
            options.notice(
                "of the files and directories of \(printable(path)) \(mendedCount) had fewer rights than \(OriginLayout.marker), and have them now"
            )
        }
        if let obstacle = closed.lazy.compactMap(\.obstacle).first {
            options.notice(
                "not everything can be read by those who read \(OriginLayout.marker): \(obstacle.message)"
            )
        }
    }

    /// What some readers of the marker cannot read, or some writers cannot write.
    func closedPlaces(
        _ root: Int32, _ rights: UInt32, opens: Bool, givingBackBy outside: (any FileSystem)? = nil,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> [ClosedPlace] {
        var places = try ClosedPlaces(
            in: root, rights, opens: opens, givingBackBy: outside, fileSystem)
        for name in [OriginLayout.marker, OriginLayout.log, OriginLayout.epochs]
            + OriginLayout.readNames
        { try places.look(at: name) }
        try places.look(at: OriginLayout.work, isPrivate: true)
        return places.found
    }

    /// Refuses an origin in which a symbolic link replaces a directory that is needed.
    static func refuseLinks(
        _ root: Int32, _ fileSystem: any FileSystem, but unneeded: [String] = []
    ) throws(StoreError) {
        try fileSystem.list(root) { (entry, kind) throws(StoreError) in
            guard kind == .symbolicLink || kind == .unknown else { return true }
            let name = String(cString: entry)
            guard OriginLayout.directories.contains(name), !unneeded.contains(name),
                try fileSystem.status(root, name)?.kind == .symbolicLink
            else { return true }
            throw .damagedOrigin(obstruction(name, .symbolicLink))
        }
    }

    static func obstruction(_ name: String, _ kind: FileStatus.Kind) -> String {
        "\(kind.noun) stands in place of the origin's directory \(name), and nothing is read or written through it; put "
            + "the directory back. To keep an origin on another disk, move all of it"
    }

    /// The storage for a dry run: nothing is written.
    /// - Throws: as ``open(isCreating:)``.
    func draft(isCreating: Bool) throws(StoreError) -> DraftStorage {
        try refuseInsideStore()
        let here = POSIXFileSystem.workingDirectory
        guard let root = try fileSystem.openIfPresent(here, path, .typedDirectory) else {
            guard isCreating else { throw DirectoryOrigin.noOrigin(path) }
            return DraftStorage(emptyAt: path)
        }
        try Self.refuseLinks(root.raw, fileSystem)
        try checkIsOurs(root.raw, isCreating: isCreating, fileSystem)
        return DraftStorage(over: try storage(root, 0, fileSystem))
    }

    private func storage(
        _ root: consuming Descriptor, _ rights: UInt32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> DirectoryStorage {
        let (path, notice, isRepairing) = (path, options.notice, isRepairing)
        var rescue = DirectoryStorage.Rescue(
            makeSpace: { (root) throws(StoreError) in
                try OriginReserve.makeSpace(in: root, fileSystem)
            },
            setAside: { name, aside in
                notice(
                    "something else stood in place of \(printable(name)) in \(printable(path)); it is "
                        + "\(OriginLayout.work)/\(aside) now, and castree does not need it")
            })
        rescue.mendsDirectories = isRepairing
        rescue.passesOver = { isRepairing || OriginLayout.passes(over: $0, $1, notice) }
        return try DirectoryStorage(
            path, open: root, scratch: OriginLayout.work, rights: rights,
            isDurable: options.isDurable, rescue: rescue,
            fileSystem: fileSystem)
    }

    /// The marker's rights, which all files get whatever the umask; never the right of everybody to write.
    ///
    /// While the marker is lost, the directory of the channels has them: it is made new like everything else.
    static func rights(
        in root: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> UInt32 {
        for (name, kind) in [
            (OriginLayout.marker, FileStatus.Kind.regular), (OriginLayout.channels, .directory),
        ] {
            guard let there = try fileSystem.status(root, name) else { continue }
            // The mode of a link says nothing, whatever it leads to.
            return there.kind == kind ? there.mode & 0o664 : 0
        }
        return 0
    }

    private func openRoot(isCreating: Bool) throws(StoreError) -> Descriptor {
        let here = POSIXFileSystem.workingDirectory
        do throws(StoreError) {
            return try fileSystem.open(here, path, .typedDirectory, mode: 0)
        } catch {
            guard error.code == .notFound else { throw error }
            guard isCreating else { throw DirectoryOrigin.noOrigin(path) }
        }
        _ = try fileSystem.makeTypedDirectory(path, mode: Self.directoryMode)
        let root = try fileSystem.open(here, path, .typedDirectory, mode: 0)
        if options.isDurable {
            let parent = try fileSystem.open(root.raw, "..", .directory, mode: 0)
            try fileSystem.sync(parent.raw)
        }
        return root
    }

    private func checkIsOurs(
        _ root: Int32, isCreating: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        if try isOrigin(root, fileSystem) { return }
        if isRepairing, try OriginMarker.remade(root, fileSystem) != nil { return }
        try OriginMarker.refuseLost(root, path, fileSystem)
        guard isCreating else { throw DirectoryOrigin.noOrigin(path) }
        for name in OriginLayout.taken {
            guard try fileSystem.status(root, name) == nil else {
                // The marker comes first: if another publisher has begun in the meantime, it exists by now.
                if try isOrigin(root, fileSystem) { return }
                throw StoreError(.badOrigin, DirectoryOrigin.noOrigin(path).message)
            }
        }
        guard !options.beginsAmongOthers else { return }
        // Another publisher may have begun, or been killed (`.publish`); a file system has a directory for lost files.
        let others = try fileSystem.names(in: root).filter {
            !$0.hasPrefix(".") && $0 != FileStatus.foundFiles
        }
        guard let other = others.min() else { return }
        if try isOrigin(root, fileSystem) { return }
        throw StoreError(
            .badOrigin,
            "\(printable(path)) is neither empty nor an origin (it has \(printable(other))); "
                + "publish to a directory of its own, or give --force to begin an origin there")
    }

    /// Whether it has the marker, or the log that makes it an origin without one.
    /// - Throws: also `.offeredElsewhere` for a cache of an origin elsewhere, whose log has one empty entry.
    private func isOrigin(_ root: Int32, _ fileSystem: any FileSystem) throws(StoreError) -> Bool {
        let first = try fileSystem.status(root, OriginLayout.logMark)
        if let first, first.kind == .regular, first.byteCount == 0,
            try fileSystem.status(root, OriginLayout.logEntry(2)) == nil
        {
            throw StoreError(
                .offeredElsewhere,
                "\(printable(path)) is what a server keeps of an origin in a bucket: publish to the bucket"
            )
        }
        // A wrong marker is mended, as in a bucket.
        if first != nil { return true }
        return try OriginMarker.isPresent(root, path, fileSystem)
    }

    /// Refuses an origin inside a store, where foreign files are a finding.
    private func refuseInsideStore() throws(StoreError) {
        var place = path
        while place.count > 1, place.hasSuffix("/") { place.removeLast() }
        let end = place.lastIndex(of: "/")
        let parent = end.map { String(place[...$0]) } ?? "."
        let here = POSIXFileSystem.workingDirectory
        for candidate in [path, parent] {
            guard
                let directory = try fileSystem.openIfPresent(
                    here, candidate, .directoryFollowingLinks)
            else { continue }
            guard try fileSystem.isInsideStore(directory.raw) else { return }
            throw StoreError(
                .insideStore,
                "unable to publish to \(printable(path)): it is inside a store; publish to a directory "
                    + "of its own")
        }
    }
}

extension WorkDirectory {
    /// Explains a refusal when root acts as the directory's owner but files are somebody else's, as after a restore.
    func explained(_ error: StoreError) -> StoreError {
        guard error.code == .permission, effectiveUser() == 0,
            let owner = try? fileSystem.status(root).owner, owner != 0
        else { return error }
        return error.advising(
            "castree acts as \(userDescription(owner)) here, to whom the origin's directory belongs, and that may be "
                + "another user's: chown -R \(owner) \(printable(place)) gives all of it back"
        )
    }
}

/// Space on a full disk, so that a withdrawal need not wait for it.
enum OriginReserve {
    private static let byteCount: Int64 = 512 << 10
    private static let path = "\(OriginLayout.work)/\(OriginLayout.reserve)"

    /// Reserves space for the pointers and entries of a day, or does without.
    static func make(in work: WorkDirectory) {
        let (root, fileSystem) = (work.root, work.fileSystem)
        do throws(StoreError) {
            guard try fileSystem.status(root, path) == nil else { return }
            _ = try work.open()
            let file = try fileSystem.open(root, path, .creating, mode: 0o600)
            try fileSystem.reserve(file.raw, byteCount)
        } catch {
            // Half of it would be useless.
            try? fileSystem.removeIfPresent(root, path)
        }
    }

    /// Deletes the reserve or, without one, the caches of packing.
    /// - Returns: whether there was any of it.
    static func makeSpace(in root: Int32, _ fileSystem: any FileSystem) throws(StoreError) -> Bool {
        if try fileSystem.status(root, path)?.kind == .regular {
            try fileSystem.removeIfPresent(root, path)
            return true
        }
        let work = try fileSystem.open(root, OriginLayout.work, .directory, mode: 0)
        return try PackingPlace.dropCaches(in: work.raw, fileSystem)
    }
}

/// The lock of an origin in a directory: a locked file, which the kernel releases however the process ends.
///
/// Publishers share it while they send files for a commit. Pruning, beginning a log and repairing hold it
/// exclusively, and so do publishers of older castree versions for everything.
final class OriginLock {
    private let lock: FileLock

    enum Use {
        case alone
        case sharing
        /// Shared by a reader, for which nothing is created.
        case looking
    }

    /// Waits for the lock, unless the options say not to.
    ///
    /// It is `nil` for a storage without a directory for it; for a reader, also without a lock that can be opened.
    /// - Throws: `.busy` if another publisher is at work and this one does not wait; `.interrupted`.
    init?(
        _ storage: any ObjectStorage, _ options: PublisherOptions, _ use: Use = .alone
    ) throws(StoreError) {
        guard use == .looking else {
            guard let place = storage.work, place.isWritable else { return nil }
            let work = try place.open()
            lock = try Self.take(work.raw, place, options, use)
            return
        }
        guard let place = storage.work, let work = try place.openIfPresent() else {
            return nil
        }
        do throws(StoreError) {
            lock = try Self.take(work.raw, place, options, use)
        } catch {
            guard [.notFound, .readOnly].contains(error.code) || error.isOfPlace else {
                throw error
            }
            return nil
        }
    }

    private static func take(
        _ work: Int32, _ place: WorkDirectory, _ options: PublisherOptions, _ use: Use
    ) throws(StoreError) -> FileLock {
        let fileSystem = place.fileSystem
        var wait = LockWait(ofPublisher: options.waiting)
        while true {
            let file = FileLock(
                use == .looking
                    ? try fileSystem.open(work, OriginLayout.lock, .reading, mode: 0)
                    : try place.openLock(work, OriginLayout.lock), fileSystem)
            try file.take(exclusive: use == .alone, fileSystem, &wait) { holder in
                "another publisher is at work in \(printable(place.place))\(holder)"
            }
            // Somebody may have removed the file, whose lock then excludes nobody.
            if let here = try fileSystem.status(work, OriginLayout.lock),
                here.isSameFile(as: try fileSystem.status(file.raw))
            {
                return file
            }
        }
    }
}
