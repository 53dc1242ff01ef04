import Synchronization

/// A content-addressed store of immutable objects, the main interface of the module.
///
/// Synchronous and thread-safe; any number of processes may use one store at once. What a call has acknowledged
/// survives a power cut, unless the store was opened with `isDurable` off.
public final class Store: Sendable {
    /// The store's directory, as it was given.
    public let path: String
    /// How the store was opened.
    public let options: StoreOptions

    package let fileSystem: any FileSystem
    package let directories: StoreDirectories
    private let indexLock: Mutex<Index>
    private let failedSync = Mutex<StoreError?>(nil)
    private let keepingCount = Atomic<Int>(0)
    /// Rewritten objects whose trees have not been checked since.
    let healed = Mutex<Set<ObjectID>>([])
    /// What a clean-up could not open or remove, with the reason, by path.
    let passedOver = Mutex<[String: String]>([:])
    /// Whether files here keep their modes, once that was tried.
    let triedModes = Mutex<Bool?>(nil)
    /// Reported reasons why directories were not counted.
    let uncounted = Mutex<Set<String>>([])

    init(
        path: String, options: StoreOptions, fileSystem: any FileSystem,
        directories: StoreDirectories, manifests: any ManifestReading
    ) {
        self.path = path
        self.options = options
        self.fileSystem = fileSystem
        self.directories = directories
        indexLock = Mutex(
            Index(
                fileSystem, directories,
                path: Self.absolute(path, directories.root.raw) + "/" + StoreLayout.index, options,
                manifests))
    }

    // SQLite opens by path; a program may change its working directory.
    static func absolute(_ path: String, _ root: Int32) -> String {
        let known = POSIXFileSystem().path(of: root)
        return known.hasPrefix("/") ? known : path
    }

    package var objects: ObjectDirectory {
        ObjectDirectory(fileSystem: fileSystem, directories: directories)
    }

    package func index<R>(
        _ body: (Index) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        // Mutex.withLock is generic over its error; a `Result` avoids a compiler crash in reabstraction (6.3).
        let outcome: Result<R, StoreError> = indexLock.withLock { index in
            let index = index
            do throws(StoreError) { return .success(try body(index)) } catch {
                return .failure(explained(noteFailure(error)))
            }
        }
        return try outcome.get()
    }

    // MARK: Reading. Needs neither the index nor a write, so a full or read-only disk still reads.

    /// Opens an object; `nil` if the store does not hold it.
    /// - Throws: `.damagedObject` if something other than a file is in its place.
    public func open(_ address: ObjectID) throws(StoreError) -> ObjectReader? {
        guard let file = try objects.open(address) else { return nil }
        return try ObjectReader(address, file, fileSystem)
    }

    /// Returns whether the store holds the object, without reading its bytes.
    public func contains(_ address: ObjectID) throws(StoreError) -> Bool {
        try objects.contains(address)
    }

    /// The whole content of an object, verified; `nil` if the store does not hold it.
    /// - Throws: `.tooLarge` beyond `limit` bytes; `.damagedObject` if the bytes do not match.
    public func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]? {
        guard let reader = try open(address) else { return nil }
        return try reader.verifiedBytes(limit: limit)
    }

    // MARK: Durability

    /// Throws `.interrupted` if the caller asked to stop.
    package func checkInterruption() throws(StoreError) {
        guard keepingCount.load(ordering: .relaxed) == 0 else { return }
        if options.isInterrupted() { throw StoreError.interruption }
    }

    /// Runs `body` to keep the result of long work; meanwhile nothing in this store is interrupted, on any thread.
    package func uninterrupted<R>(_ body: () throws(StoreError) -> R) throws(StoreError) -> R {
        keepingCount.add(1, ordering: .relaxed)
        defer { keepingCount.subtract(1, ordering: .relaxed) }
        return try body()
    }

    /// Throws `.writesRefused` after a failed sync, with the sync's message, until the store is reopened.
    ///
    /// The kernel has dropped the pages, so a second sync that succeeds proves nothing.
    package func checkWritable() throws(StoreError) {
        guard let reason = failedSync.withLock({ $0?.message }) else { return }
        throw StoreError(
            .writesRefused,
            "\(reason); until the store is opened again nothing more is written to \(printable(path)); "
                + "castree fsck tells what is there")
    }

    package func sync(_ file: Int32) throws(StoreError) {
        try syncing { () throws(StoreError) in try fileSystem.sync(file) }
    }

    /// Makes something durable by `body`; if any part of that fails, nothing more is written.
    private func syncing(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        guard options.isDurable else { return }
        try checkWritable()
        do throws(StoreError) { try body() } catch { throw refuseWrites(error) }
    }

    func syncEntries(of address: ObjectID) throws(StoreError) {
        guard options.isDurable else { return }
        try checkWritable()
        do throws(StoreError) {
            try objects.syncEntries(of: address)
        } catch {
            throw noteFailure(error)
        }
    }

    package func syncAll() throws(StoreError) {
        try syncAll(orEach: directories.root.raw, EmptyCollection<String>())
    }

    /// Makes durable the index and what else belongs to a transaction, in one step if possible.
    func syncAll(with index: IndexTransaction) throws(StoreError) {
        try syncAll()
        if canSyncAll { return }
        try sync(directories.manifests.raw)
        try sync(directories.versions.raw)
        try index.sync()
    }

    /// Makes everything on the file system durable or, if the system cannot, the named files.
    func syncAll(
        orEach directory: Int32, _ names: some Sequence<String>
    ) throws(StoreError) {
        try syncing { () throws(StoreError) in
            if try fileSystem.syncAll(directories.root.raw) { return }
            for name in names {
                let file = try fileSystem.open(directory, name, .reading, mode: 0)
                try fileSystem.sync(file.raw)
            }
            for shard in try objects.shards() {
                let opened = try fileSystem.open(
                    directories.objects.raw, shard, .directory, mode: 0)
                try fileSystem.sync(opened.raw)
            }
            // A shard may be new.
            try fileSystem.sync(directories.objects.raw)
            try fileSystem.sync(directory)
        }
    }

    /// Whether one call can make everything durable here; otherwise files are synced one by one.
    package var canSyncAll: Bool { fileSystem.canSyncAll }

    /// Notes an error of a composed write: after a failed sync the store refuses writes.
    package func noteFailure(_ error: StoreError) -> StoreError {
        if case .systemCall("fsync", _, _) = error.cause { return refuseWrites(error) }
        return error.saysIndexSyncFailed ? refuseWrites(error) : error
    }

    private func refuseWrites(_ error: StoreError) -> StoreError {
        failedSync.withLock { first in if first == nil { first = error } }
        return error
    }

    // MARK: Free space

    /// Throws `.outOfSpace` unless `byteCount` more bytes leave the reserve free, and the disk can hold another file;
    /// never on a read-only disk.
    /// - Parameters:
    ///   - byteCount: how many are about to be written.
    ///   - isAll: whether these are all that the caller needs; otherwise the message omits the number.
    package func checkSpace(for byteCount: Int64, isAll: Bool = true) throws(StoreError) {
        let space = try fileSystem.freeSpace(directories.root.raw)
        // Whatever writes there fails for that reason; an image (squashfs) has no space ever.
        guard !space.isReadOnly else { return }
        if space.files == 0 {
            throw StoreError(
                .outOfSpace,
                "the disk of \(path) can hold no more files (df -i): delete some there, or retire versions and run castree gc"
            )
        }
        let reserve =
            options.reservedByteCount ?? min(max(space.total / 100, 1 << 20), 64 << 20)
        guard space.available - byteCount < reserve else { return }
        throw StoreError(
            .outOfSpace,
            "not enough free space in \(path): "
                + (byteCount > 0 && isAll ? "\(sizeText(byteCount)) are needed, " : "")
                + "\(sizeText(space.available)) are free, and \(sizeText(reserve)) must stay free for collecting; "
                + "retire versions and run castree gc")
    }

    package func hasSpace(for byteCount: Int64) throws(StoreError) -> Bool {
        try allowing({ $0.code == .outOfSpace }, try checkSpace(for: byteCount)) != nil
    }

    /// Copies an object's bytes into a new file, sharing them on disk where the file system can.
    ///
    /// Hashes the bytes on the way, unless they are shared; a wrong byte throws `.damagedObject`.
    /// - Parameter place: the file system of the directory, if the directory is outside the store.
    /// - Returns: whether they are shared.
    package func copyObject(
        _ address: ObjectID, to directory: Int32, _ name: UnsafePointer<CChar>, mode: UInt32,
        allowingReflink: Bool, on place: (any FileSystem)? = nil
    ) throws(StoreError) -> Bool {
        guard let source = try objects.open(address) else { throw missingObject(address) }
        // A clone is not read, so a touched file is copied and hashed instead.
        let status = allowingReflink ? try fileSystem.status(source.raw) : nil
        let isSealed = status.map { ObjectDirectory.isSealed($0, address, $0.byteCount) } ?? false
        return try copy(
            source.raw, of: address, to: directory, name, mode: mode, allowingReflink: isSealed,
            on: place)
    }

    func copy(
        _ source: Int32, of address: ObjectID, to directory: Int32,
        _ name: UnsafePointer<CChar>, mode: UInt32, allowingReflink: Bool,
        on place: (any FileSystem)? = nil
    ) throws(StoreError) -> Bool {
        let place = place ?? fileSystem
        let target = try place.open(directory, name, .creating, mode: mode)
        let isCloned = allowingReflink ? try fileSystem.clone(source, to: target.raw) : false
        if !isCloned {
            var checker = try ObjectChecker()
            try fileSystem.forEachPiece(of: source, buffer: checker.buffer) {
                (piece) throws(StoreError) in
                checker.update(piece)
                try fileSystem.write(target.raw, piece)
                try checkInterruption()
            }
            guard checker.finish().address == address else {
                throw StoreError.damagedObject(address)
            }
        }
        // The umask cut the mode that open(2) was given.
        try place.setMode(target.raw, mode)
        return isCloned
    }

    package func missingObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(address) is not in the store; castree fsck --repair restores it from a copy if there is one; otherwise add or pull a version that has it",
            object: address)
    }

    /// The error for an object that no tree may link to: it was written to, truncated or replaced.
    package func touchedObject(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "object \(address) was changed by another program or a bad disk: its bytes do not match its address; "
                + "run castree fsck --repair, or add or pull its content again",
            object: address)
    }

    // MARK: Touched objects

    /// The given objects that are missing, or that another program has changed; touched files are read.
    package func wrong(among addresses: [ObjectID]) throws(StoreError) -> Set<ObjectID> {
        let wrong = Mutex<Set<ObjectID>>([])
        try Parallel.run(workers: Parallel.workerCount, count: addresses.count) {
            (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                try self.checkInterruption()
                for position in chunk {
                    let address = addresses[position]
                    let isRight = try self.objects.isRight(address)
                    if !isRight { wrong.withLock { _ = $0.insert(address) } }
                }
            }
        }
        return wrong.withLock { $0 }
    }

    /// Reports that a writer has replaced an object whose bytes were wrong.
    func noteHealed(_ address: ObjectID) {
        healed.withLock { _ = $0.insert(address) }
        options.notice(
            "object \(address) had other bytes than its address says, and was written anew")
    }

    /// The objects that were rewritten since the last call: trees that showed them have the old files.
    package func takeHealed() -> [ObjectID] {
        healed.withLock { healed in
            defer { healed = [] }
            return healed.sorted()
        }
    }
}
