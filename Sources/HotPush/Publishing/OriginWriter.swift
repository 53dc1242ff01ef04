import CASStore

/// An origin that only this process may change: open directories and the lock.
///
/// The lock is a file locked by the kernel (flock(2)), which releases it when the process ends,
/// however the process ends. Readers take none.
final class OriginWriter: Sendable {
    let path: String
    let fileSystem: any FileSystem
    let options: PublisherOptions
    let root: Descriptor
    let objects: Descriptor
    let manifests: Descriptor
    let channels: Descriptor
    let work: Descriptor
    let staging: Descriptor
    private let lock: Descriptor
    /// Whether nothing may be changed: what dead publishers have left stays.
    private let isOnlyLooking: Bool
    /// Who may read and write files of the origin in any case: as its marker, whatever the umask of this process.
    let rights: UInt32
    /// Whether the umask may take some of them.
    let mayLackRights: Bool

    // As in all programs, the umask decides whether the group may write. 022 leaves 0644 and 0755,
    // which every web server can read. A stricter one takes no rights that the origin has: see `rights`.
    static let fileMode: UInt32 = 0o666
    private static let directoryMode: UInt32 = 0o777

    /// Opens an origin and waits for its lock.
    ///
    /// - Parameter isCreating: make the origin if there is none; its parent must exist.
    /// - Throws: `.noOrigin`; `.badOrigin` for a directory that is something else;
    ///   `.unsupportedFormat`; `.busy` if another publisher is at work and this one does not wait.
    init(
        _ path: String, isCreating: Bool, _ options: PublisherOptions,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let root = try Self.openRoot(path, isCreating, options, fileSystem)
        let fileSystem = try fileSystem.owners(of: root.raw, path)
        // Before anything is made in a directory that is not ours.
        try Self.checkIsOurs(root.raw, path, isCreating, options, fileSystem)
        let work = try Self.directory(OriginLayout.work, in: root.raw, fileSystem)
        let lock = try Self.takeLock(work.raw, path, options, fileSystem)
        try Self.mark(root.raw, path, isCreating, options, fileSystem)
        let objects = try Self.directory(OriginLayout.objects, in: root.raw, fileSystem)
        let manifests = try Self.directory(OriginLayout.manifests, in: root.raw, fileSystem)
        let channels = try Self.directory(OriginLayout.channels, in: root.raw, fileSystem)
        // Whoever left something there has ended: this process has the lock.
        try Self.dropLeftovers(in: work.raw, path, options, fileSystem)
        // A process that only removes something stages nothing: a full disk has no room for a directory.
        let staging =
            isCreating
            ? try Self.directory(OriginLayout.staging, in: work.raw, fileSystem)
            : try fileSystem.open(root.raw, OriginLayout.work, .directory, mode: 0)
        let rights = Self.rights(of: try fileSystem.status(root.raw, OriginLayout.marker))
        // Just made: it shows the umask.
        let shown = isCreating ? try fileSystem.status(staging.raw).mode : 0
        self.path = path
        self.fileSystem = fileSystem
        self.options = options
        self.root = root
        self.objects = objects
        self.manifests = manifests
        self.channels = channels
        self.work = work
        self.staging = staging
        self.lock = lock
        isOnlyLooking = false
        self.rights = rights
        mayLackRights = shown & rights != rights
        if isCreating { originPlace.makeReserve() }
        try finishSigned()
    }

    /// Opens an origin to look at it while no publisher is at work; makes, removes and finishes nothing.
    ///
    /// Where the lock cannot be opened, or nobody has made it, it looks without.
    /// - Throws: `.noOrigin`; `.unsupportedFormat`; `.busy` as above; what opening throws.
    init(
        lookingAt path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let root = try Self.openRoot(path, false, options, fileSystem)
        let fileSystem = try fileSystem.owners(of: root.raw, path)
        try Self.checkIsOurs(root.raw, path, false, options, fileSystem)
        let objects = try Self.standing(OriginLayout.objects, in: root.raw, path, fileSystem)
        let manifests = try Self.standing(OriginLayout.manifests, in: root.raw, path, fileSystem)
        let channels = try Self.standing(OriginLayout.channels, in: root.raw, path, fileSystem)
        // A mirror may have none.
        let isWorkedIn = try fileSystem.status(root.raw, OriginLayout.work)?.kind == .directory
        let workName = isWorkedIn ? OriginLayout.work : "."
        let work = try fileSystem.open(root.raw, workName, .directory, mode: 0)
        let staging = try fileSystem.open(root.raw, workName, .directory, mode: 0)
        let lock = try Self.takeLockIfAllowed(work.raw, path, options, fileSystem)
        self.path = path
        self.fileSystem = fileSystem
        self.options = options
        self.root = root
        self.objects = objects
        self.manifests = manifests
        self.channels = channels
        self.work = work
        self.staging = staging
        self.lock = lock
        isOnlyLooking = true
        (rights, mayLackRights) = (0, false)
    }

    deinit {
        // The next publisher removes what cannot be removed now.
        if !isOnlyLooking { try? fileSystem.removeTree(work.raw, OriginLayout.staging) }
        // A program that is just starting has the file open, too, and would hold the lock until it execs.
        fileSystem.unlock(lock.raw)
    }

    private static func openRoot(
        _ path: String, _ isCreating: Bool, _ options: PublisherOptions,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        let here = POSIXFileSystem.workingDirectory
        do throws(StoreError) {
            return try fileSystem.open(here, path, .directoryFollowingLinks, mode: 0)
        } catch {
            guard error.code == .notFound else { throw error }
            guard isCreating else { throw DirectoryOrigin.noOrigin(path) }
        }
        do throws(StoreError) {
            try fileSystem.makeDirectoryIfAbsent(here, path, mode: directoryMode)
        } catch {
            throw fileSystem.naming(directoryMissingAbove: path, error)
        }
        let root = try fileSystem.open(here, path, .directoryFollowingLinks, mode: 0)
        if options.isDurable {
            let parent = try fileSystem.open(root.raw, "..", .directory, mode: 0)
            try fileSystem.sync(parent.raw)
        }
        return root
    }

    static func checkIsOurs(
        _ root: Int32, _ path: String, _ isCreating: Bool, _ options: PublisherOptions,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        try OriginMarker.refuseCopyOfBucket(root, path, fileSystem)
        if try OriginMarker.isPresent(root, path, fileSystem) { return }
        try OriginMarker.refuseLost(root, path, fileSystem)
        guard isCreating else { throw DirectoryOrigin.noOrigin(path) }
        let taken = [
            OriginLayout.objects, OriginLayout.manifests, OriginLayout.channels, StoreLayout.format,
        ]
        for name in taken {
            guard try fileSystem.status(root, name) == nil else {
                // The marker comes first: if another publisher has begun meanwhile, it is there by now.
                if try OriginMarker.isPresent(root, path, fileSystem) { return }
                throw StoreError(
                    .badOrigin,
                    "\(printable(path)) has \(name) and is no origin; "
                        + "publish to a directory of its own")
            }
        }
        guard !options.beginsAmongOthers else { return }
        // Another publisher may have begun, or was killed beginning (`.publish`, `.origin.json.new`); a disk of its own
        // has a place for what fsck finds.
        let others = try fileSystem.names(in: root).filter {
            !$0.hasPrefix(".") && $0 != "lost+found"
        }
        guard let other = others.min() else { return }
        if try OriginMarker.isPresent(root, path, fileSystem) { return }
        throw StoreError(
            .badOrigin,
            "\(printable(path)) is neither empty nor an origin (it has \(printable(other))); "
                + "publish to a directory of its own, or give --force to begin an origin there")
    }

    private static func mark(
        _ root: Int32, _ path: String, _ isCreating: Bool, _ options: PublisherOptions,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        // Checked again: another publisher may have made it meanwhile.
        try checkIsOurs(root, path, isCreating, options, fileSystem)
        if try OriginMarker.isPresent(root, path, fileSystem) { return }
        try fileSystem.replaceFile(
            root, OriginLayout.marker, with: OriginMarker.serialized(), mode: fileMode,
            token: "new", durably: options.isDurable)
        // Who mistyped its directory hears of it.
        options.notice("made a new origin in \(printable(path))")
    }

    static func directory(
        _ name: String, in parent: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        try fileSystem.makeDirectoryIfAbsent(parent, name, mode: directoryMode)
        return try fileSystem.open(parent, name, .directory, mode: 0)
    }

    private static func standing(
        _ name: String, in root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        if let directory = try fileSystem.openIfPresent(root, name, .directory) { return directory }
        throw StoreError(
            .damagedOrigin,
            "\(printable(path)) has no \(name)/: put it back from a copy of the origin, or publish again"
        )
    }

    static var interruption: StoreError {
        StoreError(
            .interrupted,
            "interrupted; the channel offers what it did before, and repeating the command goes on")
    }

    func checkInterruption() throws(StoreError) {
        if options.isInterrupted() { throw Self.interruption }
    }

    /// Opens the directory of an address's first two digits; makes it if need be.
    ///
    /// A link in its place would have files written outside the origin.
    /// - Throws: `.badOrigin` for what is no directory.
    func shard(of address: ObjectID, in directory: Int32) throws(StoreError) -> Descriptor {
        let name = String(address.description.prefix(2))
        do throws(StoreError) {
            return try makeDirectory(name, in: directory)
        } catch {
            guard error.isNotDirectory else { throw error }
            throw StoreError(
                .badOrigin,
                "\(name) in \(printable(POSIXFileSystem().path(of: directory))) is no directory of the origin: "
                    + "delete it, and repeat the command", cause: error.cause)
        }
    }

    /// The directories of objects, or of packs, in no particular order.
    func shards(in directory: Int32) throws(StoreError) -> [String] {
        try fileSystem.names(in: directory) { (_, kind) in
            kind == .directory || kind == .unknown
        }
    }

    /// The objects, or packs, that stand in a directory, but for some; sorted.
    func stored(
        in parent: Int32, except needed: Set<ObjectID>
    ) throws(StoreError) -> [Reference] {
        var found: [Reference] = []
        for shard in try shards(in: parent).sorted() {
            let directory = try fileSystem.open(parent, shard, .directory, mode: 0)
            try fileSystem.list(directory.raw) { (entry, _) throws(StoreError) in
                guard shard.utf8.count == 2,
                    let address = ObjectID(shard + String(cString: entry)),
                    !needed.contains(address),
                    let status = try fileSystem.status(directory.raw, entry),
                    status.kind == .regular
                else { return true }
                found.append(Reference(address: address, byteCount: status.byteCount))
                return true
            }
        }
        return found.sorted()
    }

    /// The directories of packs and deliveries.
    struct PackDirectories: ~Copyable {
        let packs, deliveries: Descriptor
    }

    /// Opens the directories of packs and deliveries, which only origins with packs have; makes them if need be.
    func makePackDirectories() throws(StoreError) -> PackDirectories {
        PackDirectories(
            packs: try makeDirectory(OriginLayout.packs, in: root.raw),
            deliveries: try makeDirectory(OriginLayout.deliveries, in: root.raw))
    }

    /// The same, or `nil` if the origin has none.
    func packDirectories() throws(StoreError) -> PackDirectories? {
        guard
            let packs = try fileSystem.openIfPresent(root.raw, OriginLayout.packs, .directory),
            let deliveries = try fileSystem.openIfPresent(
                root.raw, OriginLayout.deliveries, .directory)
        else { return nil }
        return PackDirectories(packs: packs, deliveries: deliveries)
    }

    // MARK: Durability

    /// Makes one file or directory durable.
    func sync(_ file: Int32) throws(StoreError) {
        if options.isDurable { try fileSystem.sync(file) }
    }

    /// Makes everything in the origin durable; if the system cannot, all directories.
    func syncAll() throws(StoreError) {
        guard options.isDurable else { return }
        if try fileSystem.syncAll(root.raw) { return }
        try syncShards(of: objects.raw)
        if let directories = try packDirectories() {
            try syncShards(of: directories.packs.raw)
            try fileSystem.sync(directories.packs.raw)
            try fileSystem.sync(directories.deliveries.raw)
        }
        if let directories = try factsDirectories() {
            try syncShards(of: directories.twins.raw)
            try fileSystem.sync(directories.twins.raw)
            try fileSystem.sync(directories.facts.raw)
        }
        for directory in [objects.raw, manifests.raw, channels.raw, root.raw] {
            try fileSystem.sync(directory)
        }
    }

    private func syncShards(of parent: Int32) throws(StoreError) {
        for shard in try shards(in: parent) {
            let directory = try fileSystem.open(parent, shard, .directory, mode: 0)
            try fileSystem.sync(directory.raw)
        }
    }

    /// Throws `.outOfSpace` unless this many bytes are free, and so many more for directories.
    func checkSpace(for byteCount: Int64, beside reserve: Int64) throws(StoreError) {
        let available = try fileSystem.freeSpace(root.raw).available
        guard available < byteCount.addingClamped(reserve) else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(printable(path)): \(sizeText(byteCount)) are needed, "
                + "\(sizeText(available)) are free, and \(sizeText(reserve)) must stay free; castree prune deletes what no "
                + "channel offers")
    }

    // MARK: Pointers

    /// The pointers of all channels.
    func pointers() throws(StoreError) -> [ChannelName: ChannelPointer] {
        try ChannelPointer.readAll(channels.raw, fileSystem)
    }

    /// Puts a pointer in its place: from now on readers see it.
    ///
    /// - Parameter pointers: what it is built upon; see ``PointerSealing/seal(_:upon:in:now:isRepeated:notice:)``.
    /// - Returns: the pointer as it was written: signed, if the options say by whom.
    /// - Throws: also `.untrusted` for what must not be built upon.
    @discardableResult
    func write(
        _ pointer: ChannelPointer, upon pointers: [ChannelName: ChannelPointer]
    ) throws(StoreError) -> ChannelPointer {
        let sealed = try options.sealing.seal(
            pointer, upon: pointers, in: self, now: pointer.createdAt, notice: options.notice)
        try write(sealed: sealed, upon: pointers[pointer.channel])
        return sealed
    }

    /// Puts a pointer in its place that is signed already, or by nobody.
    ///
    /// The keys' memory is told before and at once after, whatever fails then: who controls the origin can make any later
    /// call fail.
    /// - Parameter before: what it was built upon.
    func write(
        sealed pointer: ChannelPointer, upon before: ChannelPointer?
    ) throws(StoreError) {
        // Before a key remembers it: nobody could read it, and so nobody take it back.
        try pointer.checkRoom()
        try options.telling?.tell(pointer, upon: before, in: originPlace)
        try options.sealing.prepare(pointer, upon: before, at: place, notice: options.notice)
        try replaceFile(
            channels.raw, OriginLayout.pointerFile(pointer.channel), with: pointer.serialized())
        options.sealing.remember(pointer, at: place, notice: options.notice)
        if pointer.isSigned, let origin = pointer.origin { try mark(as: origin) }
        try listChannels()
    }

    /// Tells the clients of other systems again what a pointer offers that stands: something may be missing.
    func tellAgain(_ pointer: ChannelPointer) throws(StoreError) {
        try options.telling?.tell(pointer, upon: pointer, in: originPlace)
    }

    /// Copies the id of a signed origin into its marker.
    private func mark(as origin: String) throws(StoreError) {
        try mark(with: OriginMarker.serialized(of: origin))
    }

    /// Notes in the marker that clients of other systems update from the origin, durably.
    func markToldClients() throws(StoreError) {
        let id = try OriginMarker.id(of: root.raw, fileSystem)
        try mark(with: OriginMarker.serialized(of: id, hasClients: true))
    }

    private func mark(with marker: [UInt8]) throws(StoreError) {
        let there = try fileSystem.contents(
            root.raw, OriginLayout.marker, limit: Int(OriginMarker.byteCountMax))
        guard there != marker else { return }
        try replaceFile(root.raw, OriginLayout.marker, with: marker)
    }

    /// Writes the list of the channels' names if they have changed.
    func listChannels() throws(StoreError) {
        let list = ChannelList.serialized(try OriginListing.channels(channels.raw, fileSystem))
        if try fileSystem.derived(root.raw, OriginLayout.channelList, limit: list.count) == list {
            return
        }
        try replaceFile(root.raw, OriginLayout.channelList, with: list)
    }
}
