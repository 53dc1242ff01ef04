import Synchronization

/// Many objects that become durable in few steps: write all, sync once, link all, sync once.
///
/// Objects are staged under `staging/<lease>/<address>`; the staged name goes last, so a crash at any point leaves
/// either an unacknowledged staged file, or one with two links that recovery records. Workers stage from several
/// threads at once, each with its own ``ObjectChecker``; the other methods belong to one thread.
package final class ObjectBatch: Sendable {
    private let store: Store
    let directory: Descriptor
    let spaceBudget: SpaceBudget
    /// Whether neither the umask nor a default of the directory cuts the mode of new files.
    ///
    /// 0 until the first file has been examined, then 1 for no and 2 for yes.
    private let keepsModes = Atomic<Int>(0)

    package init(_ store: Store, lease: borrowing Lease) throws(StoreError) {
        let staging = store.directories.staging.raw
        try store.fileSystem.makeDirectoryIfAbsent(staging, lease.name)
        directory = try store.fileSystem.open(staging, lease.name, .directory, mode: 0)
        spaceBudget = SpaceBudget(store)
        self.store = store
    }

    /// Reads an open file to its end and stages its bytes, unless the object exists already.
    /// - Parameters:
    ///   - name: unique among the workers of the batch; names large files while they are read.
    ///   - again: stage it even if it is in `objects/`, because the index does not prove it.
    /// - Returns: the object, and whether this call staged it: of two workers with the same content, only one did.
    /// - Throws: `.outOfSpace`, what reading and writing throw.
    package func stage(
        _ file: Int32, name: String, checker: inout ObjectChecker, again: Bool = false
    ) throws(StoreError) -> (object: StoredObject, isStaged: Bool) {
        let fileSystem = store.fileSystem
        let first = try fileSystem.read(file, into: checker.buffer, at: 0)
        guard first < checker.buffer.count else {
            return try stageLarge(file, first, name: name, checker: &checker, again: again)
        }
        // pread(2) of a regular file is short only at its end: all bytes are in the buffer.
        let bytes = UnsafeRawBufferPointer(rebasing: checker.buffer[..<first])
        let (address, fingerprint) = checker.hash(bytes)
        let object = StoredObject(
            address: address, byteCount: Int64(first), fingerprint: fingerprint)
        let isThere = again ? false : try stands(object)
        if isThere { return (object, false) }
        try spaceBudget.take(Int64(first), fileSystem)
        let isStaged = try StoreLayout.withDigits(address) { (name) throws(StoreError) in
            // Staging again finds what this worker, or another, has already staged.
            let target = try allowing(
                \.isExisting,
                try fileSystem.open(directory.raw, name, .creating, mode: 0o444))
            guard let target else { return again }
            try fill(target.raw, bytes)
            return true
        }
        return (object, isStaged)
    }

    private func fill(_ target: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try store.fileSystem.write(target, bytes)
        if keepsModes.load(ordering: .relaxed) == 2 { return }
        let isKept = try store.fileSystem.status(target).mode & 0o777 == 0o444
        keepsModes.store(isKept ? 2 : 1, ordering: .relaxed)
        if !isKept { try store.fileSystem.setMode(target, 0o444) }
    }

    /// Stages verified bytes, all or none, from any thread.
    func write(_ bytes: [UInt8], as name: String) throws(StoreError) {
        try spaceBudget.take(Int64(bytes.count), store.fileSystem)
        do throws(StoreError) {
            let target = try store.fileSystem.open(directory.raw, name, .creating, mode: 0o444)
            try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try fill(target.raw, bytes)
            }
        } catch {
            // Report the first error; ending the lease sweeps the rest.
            try? store.fileSystem.removeIfPresent(directory.raw, name)
            throw error
        }
    }

    // The address is known only at the end: write under another name, then rename or drop.
    private func stageLarge(
        _ file: Int32, _ first: Int, name: String, checker: inout ObjectChecker, again: Bool
    ) throws(StoreError) -> (object: StoredObject, isStaged: Bool) {
        let fileSystem = store.fileSystem
        try fileSystem.removeIfPresent(directory.raw, name)
        let object: StoredObject
        do throws(StoreError) {
            object = try copy(file, first, to: name, checker: &checker)
        } catch {
            // The bytes are incomplete and the error says why; ending the lease sweeps the rest.
            try? fileSystem.removeIfPresent(directory.raw, name)
            _ = checker.finish()
            throw error
        }
        var isStaged = false
        let isThere = again ? false : try stands(object)
        if !isThere {
            // Not rename: if another worker staged the same content first, its name stays.
            let isRenamed =
                try allowing(
                    \.isExisting,
                    try fileSystem.renameNew(
                        directory.raw, name, to: directory.raw, object.address.description)) != nil
            isStaged = isRenamed || again
        }
        try fileSystem.removeIfPresent(directory.raw, name)
        return (object, isStaged)
    }

    private func copy(
        _ file: Int32, _ first: Int, to name: String, checker: inout ObjectChecker
    ) throws(StoreError) -> StoredObject {
        let fileSystem = store.fileSystem
        let target = try fileSystem.open(directory.raw, name, .creating, mode: 0o444)
        var count = first
        var offset: Int64 = 0
        while count > 0 {
            try store.checkInterruption()
            let piece = UnsafeRawBufferPointer(rebasing: checker.buffer[..<count])
            checker.update(piece)
            try spaceBudget.take(Int64(count), fileSystem)
            try fileSystem.write(target.raw, piece)
            offset += Int64(count)
            count = try fileSystem.read(file, into: checker.buffer, at: offset)
        }
        try fileSystem.setMode(target.raw, 0o444)
        let (address, fingerprint) = checker.finish()
        return StoredObject(address: address, byteCount: offset, fingerprint: fingerprint)
    }

    // A file of another size, or a touched one with other bytes, does not match its name, and is replaced.
    private func stands(_ object: StoredObject) throws(StoreError) -> Bool {
        try store.objects.isRight(object.address, byteCount: object.byteCount) ?? false
    }

    /// Makes staged bytes durable, before `publish` and any acknowledgement.
    package func syncStaged(_ staged: some Sequence<ObjectID>) throws(StoreError) {
        try store.syncAll(orEach: directory.raw, staged.lazy.map(\.description))
    }

    /// Gives staged objects their names, on all processors; the caller makes the entries durable.
    /// - Parameter isMending: whether they are published because damage was found, which then need not be reported.
    package func publish(
        count: Int, mending isMending: Bool = false,
        _ address: @escaping @Sendable (Int) -> ObjectID
    ) throws(StoreError) {
        let batch = self
        if count > 0 { try store.objects.makeShards(for: (0..<count).lazy.map(address)) }
        try Parallel.run(workers: Parallel.workerCount, count: count, chunk: 32) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                try batch.store.checkInterruption()
                for position in chunk {
                    let address = address(position)
                    try StoreLayout.withDigits(address) { (name) throws(StoreError) in
                        let isHealed = try batch.store.objects.publish(
                            batch.directory.raw, name, as: address, checker: &checker)
                        if isHealed, !isMending { batch.store.noteHealed(address) }
                    }
                }
            }
        }
    }

    /// Removes the staged name of a published object, after the index has recorded it.
    package func dropStagedName(_ address: ObjectID) throws(StoreError) {
        try StoreLayout.withDigits(address) { (name) throws(StoreError) in
            try store.fileSystem.removeIfPresent(directory.raw, name)
        }
    }
}

/// Refuses writes that would use up the reserve of free space, seldom asking the file system.
final class SpaceBudget: Sendable {
    private let store: Store
    private let left = Mutex<Int64>(0)
    private static let step: Int64 = 32 << 20

    init(_ store: Store) { self.store = store }

    func take(_ byteCount: Int64, _ fileSystem: any FileSystem) throws(StoreError) {
        let isCovered = left.withLock { left in
            left -= byteCount
            return left >= 0
        }
        if isCovered { return }
        try store.checkSpace(for: byteCount, isAll: false)
        // Asks more often on a small disk: it never grants more than a quarter of the free space.
        let free = try fileSystem.freeSpace(store.directories.root.raw).available
        left.withLock { $0 = min(Self.step, free / 4) }
    }
}

/// Executable copies that become durable together: stage all, sync once, rename all.
///
/// The executable copy of an object holds the same bytes in a file of mode 0555, so that one inode never serves two
/// modes. It is a reflink if the file system has them, else a copy.
package struct ExecutableCopyBatch: Sendable {
    private let store: Store
    private let lease: String
    package private(set) var staged: Set<ObjectID> = []

    package init(_ store: Store, lease: borrowing Lease) {
        self.store = store
        self.lease = lease.name
    }

    private func stagedName(_ address: ObjectID) -> String {
        address.description + StoreLayout.executableCopySuffix
    }

    /// Stages the executable copy of an object, unless it exists.
    ///
    /// The object itself may be staged by the same lease. The caller makes the copy durable before ``publish()``.
    package mutating func stage(_ address: ObjectID) throws(StoreError) {
        guard !staged.contains(address), try !stands(address) else { return }
        let fileSystem = store.fileSystem
        let staging = store.directories.staging.raw
        try fileSystem.makeDirectoryIfAbsent(staging, lease)
        let directory = try fileSystem.open(staging, lease, .directory, mode: 0)
        try fileSystem.removeIfPresent(directory.raw, stagedName(address))
        if let own = try fileSystem.openIfPresent(directory.raw, address.description, .reading) {
            _ = try store.copy(
                own.raw, of: address, to: directory.raw, stagedName(address), mode: 0o555,
                allowingReflink: true)
        } else {
            _ = try store.copyObject(
                address, to: directory.raw, stagedName(address), mode: 0o555,
                allowingReflink: true)
        }
        staged.insert(address)
    }

    // A file of another size is no executable copy; one that was touched is read.
    private func stands(_ address: ObjectID) throws(StoreError) -> Bool {
        guard let executableCopy = try store.objects.status(address, executable: true),
            executableCopy.kind == .regular
        else { return false }
        guard let object = try store.objects.status(address) else { return true }
        return try store.objects.isRight(
            address, executableCopy, byteCount: object.byteCount, executable: true)
    }

    /// Gives the staged executable copies their names; the caller makes the entries durable.
    package func publish() throws(StoreError) {
        guard !staged.isEmpty else { return }
        let directory = try store.fileSystem.open(
            store.directories.staging.raw, lease, .directory, mode: 0)
        for address in staged {
            try store.objects.makeShard(of: address)
            do throws(StoreError) {
                try publish(address, from: directory.raw)
            } catch {
                // Published before: the caller repeats its work.
                guard error.code == .notFound, try stands(address) else { throw error }
            }
        }
    }

    /// An existing executable copy stays: other trees may link to it.
    private func publish(_ address: ObjectID, from directory: Int32) throws(StoreError) {
        let (fileSystem, objects) = (store.fileSystem, store.directories.objects.raw)
        let (staged, path) = (
            stagedName(address), StoreLayout.objectPath(address, executable: true)
        )
        store.objects.seal(directory, staged, as: address, at: nanosecondsNow())
        do throws(StoreError) {
            try fileSystem.renameNew(directory, staged, to: objects, path)
        } catch {
            guard error.isExisting else { throw error }
            if try stands(address) {
                try fileSystem.removeIfPresent(directory, staged)
            } else {
                // A file of another size may be the last copy of something else.
                var checker = try ObjectChecker()
                try store.objects.keepUnlessObject(at: path, of: address, checker: &checker)
                try fileSystem.rename(directory, staged, to: objects, path)
            }
        }
    }
}

extension Store {
    /// Deletes the executable copies of objects to which no tree links; they can be made again.
    ///
    /// A process that is just about to link to one misses it and must start over. The executable copy of an object
    /// that may be damaged stays: a repair restores the object from it.
    /// - Parameter lease: the caller's; copies being deleted go when the lease ends.
    package func removeUnusedExecutableCopies(
        of addresses: some Sequence<ObjectID>, lease: borrowing Lease
    ) throws(StoreError) {
        for address in addresses {
            guard let executableCopy = try objects.status(address, executable: true),
                executableCopy.kind == .regular, executableCopy.linkCount == 1,
                try objects.hasShard(of: address),
                try canSpareExecutableCopy(of: address, executableCopy)
            else { continue }
            try removeUnusedExecutableCopy(of: address, lease: lease.name)
        }
    }

    /// Whether an object's own file exists, intact if a version still names it, and the copy has its size.
    private func canSpareExecutableCopy(
        of address: ObjectID, _ executableCopy: FileStatus
    ) throws(StoreError) -> Bool {
        let known = try reading { (index) throws(StoreError) in try index.object(address) }
        guard let known, let own = try objects.status(address), own.kind == .regular,
            own.byteCount == known.byteCount, executableCopy.byteCount == known.byteCount
        else { return false }
        guard known.references > 0 else { return true }
        var checker = try ObjectChecker()
        return try objects.isSound(address, checker: &checker)
    }

    private func removeUnusedExecutableCopy(of address: ObjectID, lease: String) throws(StoreError)
    {
        let staging = directories.staging.raw
        try fileSystem.makeDirectoryIfAbsent(staging, lease)
        let own = try fileSystem.open(staging, lease, .directory, mode: 0)
        let aside = "unused" + StoreLayout.executableCopySuffix
        let objects = directories.objects.raw
        let path = StoreLayout.objectPath(address, executable: true)
        let renamed: Void? = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.rename(objects, path, to: own.raw, aside)
        }
        if renamed == nil { return }
        // From now on no tree can link to it; one may have done so since the check.
        if let executableCopy = try fileSystem.status(own.raw, aside), executableCopy.linkCount > 1
        {
            do throws(StoreError) {
                return try fileSystem.renameNew(own.raw, aside, to: objects, path)
            } catch {
                // Another copy has taken its place: of the two, the one that a tree shows stays.
                guard error.isExisting else { throw error }
                if try self.objects.status(address, executable: true)?.linkCount == 1 {
                    return try fileSystem.rename(own.raw, aside, to: objects, path)
                }
            }
        }
        try fileSystem.removeIfPresent(own.raw, aside)
    }
}
