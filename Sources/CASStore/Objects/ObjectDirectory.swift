/// An object on disk.
public struct StoredObject: Sendable, Hashable {
    /// The SHA-256 of the bytes.
    public let address: ObjectID
    /// The size in bytes.
    public let byteCount: Int64
    /// The XXH3-128 of the bytes; `nil` if it was not computed.
    package let fingerprint: Fingerprint?

    package init(address: ObjectID, byteCount: Int64, fingerprint: Fingerprint?) {
        self.address = address
        self.byteCount = byteCount
        self.fingerprint = fingerprint
    }
}

/// Publishes, opens, verifies, deletes and lists objects on disk, independently of the index.
package struct ObjectDirectory: Sendable {
    let fileSystem: any FileSystem
    let directories: StoreDirectories

    private var objects: Int32 { directories.objects.raw }

    /// The status of an object's file; `nil` if there is none.
    package func status(
        _ address: ObjectID, executable: Bool = false
    ) throws(StoreError) -> FileStatus? {
        try StoreLayout.withObjectPath(address, executable: executable) {
            (path) throws(StoreError) in
            try allowing(\.isNotDirectory, try fileSystem.status(objects, path))
        }
    }

    /// Whether a regular file is at the object's path, reached through no symbolic link, whatever its bytes.
    package func contains(_ address: ObjectID) throws(StoreError) -> Bool {
        do throws(StoreError) {
            return try open(address) != nil
        } catch {
            guard error.code == .damagedObject || error.code == .permission else { throw error }
            return error.code == .permission
        }
    }

    /// Opens an object; `nil` if there is none.
    /// - Throws: `.damagedObject` when something other than a regular file is there.
    package func open(_ address: ObjectID) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            let file = try StoreLayout.withObjectPath(address) { (path) throws(StoreError) in
                try fileSystem.openBeneath(objects, String(cString: path), .reading)
            }
            guard try fileSystem.status(file.raw).kind == .regular else {
                throw notAFile(address)
            }
            return file
        } catch {
            if error.code == .notFound { return nil }
            // O_NOFOLLOW refuses a symbolic link with ELOOP (open(2)).
            if error.isNotDirectory { throw notAFile(address) }
            throw error
        }
    }

    private func notAFile(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "something that is not a file stands in place of object \(address); "
                + "run castree fsck --repair", object: address)
    }

    /// Gives a staged file, whose bytes are durable and match the address, the object's name.
    ///
    /// On EEXIST another writer was first: those bytes are checked, and replaced by ours if they are wrong. Either
    /// way the caller makes the directory durable before it acknowledges.
    /// - Returns: whether wrong bytes were there and are replaced.
    package func publish(
        _ staged: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID,
        checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        seal(staged, name, as: address, at: nanosecondsNow())
        if try link(staged, name, as: address) { return false }
        if try isSound(address, checker: &checker) { return false }
        try makeShard(of: address)
        // What is there now may be the last copy of something else.
        try keepUnlessObject(
            at: StoreLayout.objectPath(address), of: address, checker: &checker)
        // A file cannot replace a directory (rename(2), EISDIR).
        if try status(address)?.kind == .directory {
            _ = try quarantineUnlessSound(address, checker: &checker)
        }
        // Rename is atomic where unlink-then-link would leave a moment without the object.
        try StoreLayout.withObjectPath(address) { (path) throws(StoreError) in
            let spare = String(cString: name) + StoreLayout.spareSuffix
            try fileSystem.removeIfPresent(staged, spare)
            try fileSystem.link(staged, name, to: staged, spare)
            do throws(StoreError) {
                try fileSystem.rename(staged, spare, to: objects, path)
            } catch {
                // Report the first error; a leftover is swept with the lease.
                try? fileSystem.removeIfPresent(staged, spare)
                throw error
            }
            // rename(2) does nothing when both names are already one file.
            try fileSystem.removeIfPresent(staged, spare)
        }
        return true
    }

    private func link(
        _ staged: Int32, _ name: UnsafePointer<CChar>, as address: ObjectID
    ) throws(StoreError) -> Bool {
        for isShardThere in [false, true] {
            do throws(StoreError) {
                try StoreLayout.withObjectPath(address) { (path) throws(StoreError) in
                    try fileSystem.link(staged, name, to: objects, path)
                }
                return true
            } catch {
                if error.isExisting { return false }
                guard error.code == .notFound || error.isNotDirectory, !isShardThere
                else { throw error }
                try makeShard(of: address)
            }
        }
        return false
    }

    /// Whether the bytes on disk match the address.
    package func isSound(
        _ address: ObjectID, checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        try verified(address, checker: &checker) != nil
    }

    /// Reads an object whole; `nil` if it is missing, unreadable, or does not match its address.
    package func verified(
        _ address: ObjectID, checker: inout ObjectChecker
    ) throws(StoreError) -> StoredObject? {
        do throws(StoreError) {
            guard let file = try open(address) else { return nil }
            let found = try checker.hash(file.raw, fileSystem)
            return found.address == address ? found : nil
        } catch {
            guard error.code == .damagedObject || error.isUnreadable else { throw error }
            return nil
        }
    }

    /// Creates an object's shard directory; anything else in its place, such as a link, goes to quarantine.
    package func makeShard(of address: ObjectID) throws(StoreError) {
        try makeShard(named: Self.shard(of: address))
    }

    private static func shard(of address: ObjectID) -> String {
        StoreLayout.shards[Int(address.w0 >> 56)]
    }

    func makeShard(named shard: String) throws(StoreError) {
        if try fileSystem.makeDirectoryIfAbsent(objects, shard) { return }
        guard try !isShardThere(shard) else { return }
        let aside = try StoreLayout.aside("shard-\(shard)")
        try fileSystem.move(objects, shard, to: directories.quarantine.raw, aside)
        try fileSystem.makeDirectoryIfAbsent(objects, shard)
    }

    /// Whether there is a shard of that name; a link in its place does not count.
    package func isShardThere(_ shard: String) throws(StoreError) -> Bool {
        try fileSystem.status(objects, shard)?.kind == .directory
    }

    func hasShard(of address: ObjectID) throws(StoreError) -> Bool {
        try isShardThere(Self.shard(of: address))
    }

    package func syncEntries(of address: ObjectID) throws(StoreError) {
        let shard = Self.shard(of: address)
        let directory = try fileSystem.open(objects, shard, .directory, mode: 0)
        try fileSystem.sync(directory.raw)
        try fileSystem.sync(objects)
    }

    /// Deletes the files of objects and their executable copies, if any, but follows no link in place of a shard.
    /// - Parameter trying: deletes one by the closure that it gets, and decides what a failure means.
    /// - Returns: those that had executable copies.
    @discardableResult
    package func remove(
        _ addresses: some Sequence<ObjectID>,
        trying: (ObjectID, () throws(StoreError) -> Void) throws(StoreError) -> Void = {
            (_, delete) throws(StoreError) in try delete()
        }
    ) throws(StoreError) -> Set<ObjectID> {
        let shards = Set(try shards())
        var copied: Set<ObjectID> = []
        for address in addresses where shards.contains(Self.shard(of: address)) {
            try trying(address) { () throws(StoreError) in
                try deleteFile(of: address, executable: false)
                if try deleteFile(of: address, executable: true) { copied.insert(address) }
            }
        }
        return copied
    }

    /// Deletes an object's own file or its executable copy; a stranger's directory there goes to quarantine.
    func removeFile(of address: ObjectID, executable: Bool) throws(StoreError) {
        guard try hasShard(of: address) else { return }
        try deleteFile(of: address, executable: executable)
    }

    @discardableResult
    private func deleteFile(
        of address: ObjectID, executable: Bool
    ) throws(StoreError) -> Bool {
        try StoreLayout.withObjectPath(address, executable: executable) {
            (path) throws(StoreError) -> Bool in
            do throws(StoreError) {
                return try fileSystem.ifPresent { () throws(StoreError) in
                    try fileSystem.remove(objects, path, directory: false)
                } != nil
            } catch {
                // EPERM is returned for directories, and for immutable files.
                guard error.isDirectory, try fileSystem.status(objects, path)?.kind == .directory
                else { throw error }
                try fileSystem.setAside(
                    objects, String(cString: path), to: directories.quarantine.raw,
                    quarantineName(address))
                return false
            }
        }
    }

    /// Moves what is in place of an object to quarantine, unless it is the object.
    ///
    /// Writers name their files without any lock: one may have put intact bytes there since the caller looked. So
    /// what was moved is read once more, and goes back if it is intact.
    /// - Returns: `false` if the object is there and intact.
    package func quarantineUnlessSound(
        _ address: ObjectID, checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        return try !takeUnlessSound(
            address, to: directories.quarantine.raw, quarantineName(address), checker: &checker)
    }

    /// Moves away what is in place of an object, and back if it is intact.
    /// - Returns: whether the object is there and intact.
    func takeUnlessSound(
        _ address: ObjectID, to target: Int32, _ name: String, checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        try StoreLayout.withObjectPath(address) { (path) throws(StoreError) in
            let moved: Void? = try fileSystem.ifPresent { () throws(StoreError) in
                try fileSystem.setAside(objects, String(cString: path), to: target, name)
            }
            if moved == nil { return false }
            guard try isSound(address, target, name, checker: &checker) else { return false }
            // Meanwhile another writer may have put its own file there, and knows its bytes.
            let renamed: Void? = try allowing(
                \.isExisting, try fileSystem.renameNew(target, name, to: objects, path))
            if renamed == nil { try fileSystem.removeIfPresent(target, name) }
            return true
        }
    }

    func isExecutableCopySound(
        _ address: ObjectID, checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        try isSound(
            address, objects, StoreLayout.objectPath(address, executable: true), checker: &checker)
    }

    private func isSound(
        _ address: ObjectID, _ directory: Int32, _ name: String, checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            guard try fileSystem.status(directory, name)?.kind == .regular,
                let file = try fileSystem.openIfPresent(directory, name, .reading)
            else { return false }
            return try checker.hash(file.raw, fileSystem).address == address
        } catch {
            // Unreadable counts as damaged.
            guard error.code == .io || error.code == .permission else { throw error }
            return false
        }
    }

    package func shards() throws(StoreError) -> [String] {
        try fileSystem.names(in: objects, where: Self.isShard).sorted()
    }

    /// Creates missing shard directories, even if something else is in their place; the caller makes them durable.
    func makeShards(for addresses: some Sequence<ObjectID>) throws(StoreError) {
        var isThere = try shardsThere()
        for address in addresses {
            let number = Int(address.w0 >> 56)
            if isThere[number] { continue }
            try makeShard(named: StoreLayout.shards[number])
            isThere[number] = true
        }
    }

    /// Which of the 256 shards exist, by number; trying to open each would cost an error for every missing one.
    func shardsThere() throws(StoreError) -> [Bool] {
        var isThere = [Bool](repeating: false, count: StoreLayout.shards.count)
        for name in try shards() {
            if let number = Hex.bytes(name)?.first { isThere[Int(number)] = true }
        }
        return isThere
    }

    /// The entries of `objects/` that are not shards, sorted.
    package func strays() throws(StoreError) -> [String] {
        try fileSystem.names(in: objects) { !Self.isShard($0, $1) }.sorted()
    }

    private static func isShard(_ name: String, _ kind: FileStatus.Kind) -> Bool {
        StoreLayout.isShardName(name) && (kind == .directory || kind == .unknown)
    }

    package struct Listing: Sendable {
        package var objects: [(address: ObjectID, status: FileStatus)] = []
        package var executableCopies: [(address: ObjectID, status: FileStatus)] = []
    }

    package func list(shard: String) throws(StoreError) -> Listing {
        let directory = try fileSystem.open(objects, shard, .directory, mode: 0)
        var listing = Listing()
        try fileSystem.list(directory.raw) { (entry, _) throws(StoreError) in
            var name = String(cString: entry)
            let isExecutableCopy = name.hasSuffix(StoreLayout.executableCopySuffix)
            if isExecutableCopy { name.removeLast(StoreLayout.executableCopySuffix.utf8.count) }
            guard let address = ObjectID(shard + name),
                let status = try fileSystem.status(directory.raw, entry)
            else { return true }
            if isExecutableCopy {
                listing.executableCopies.append((address, status))
            } else {
                listing.objects.append((address, status))
            }
            return true
        }
        listing.objects.sort { $0.address < $1.address }
        return listing
    }
}
