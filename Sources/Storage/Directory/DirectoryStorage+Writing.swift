package import Platform
import Synchronization

// How files get their names, and lose them.

extension DirectoryStorage {
    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        try write(key, body) { (staged, directory, name) throws(StoreError) in
            // Who replaces by a tag has looked at what stands there.
            let isThere = try fileSystem.status(directory, name) != nil
            let lock = isThere ? try takeTurn() : nil
            defer { withExtendedLifetime(lock) {} }
            if isThere, lock == nil { return false }
            try fileSystem.rename(staged.directory, staged.name, to: directory, name)
            return true
        } ?? .conflict
    }

    package func putIfAbsent(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        try write(key, body) { (staged, directory, name) throws(StoreError) in
            do throws(StoreError) {
                try link(staged, to: directory, name)
                return true
            } catch {
                guard error.isExisting else { throw error }
                return false
            }
        } ?? .conditionFailed
    }

    package func putIf(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, matching tag: EntityTag,
        _ spelling: TagSpelling
    ) throws(StoreError) -> WriteOutcome {
        var refusal = WriteOutcome.conditionFailed
        return try write(key, body) { (staged, directory, name) throws(StoreError) in
            guard let lock = try takeTurn() else {
                refusal = .conflict
                return false
            }
            defer { withExtendedLifetime(lock) {} }
            guard let there = try fileSystem.status(directory, name), there.kind == .regular,
                EntityTag(there) == tag
            else { return false }
            try fileSystem.rename(staged.directory, staged.name, to: directory, name)
            return true
        } ?? refusal
    }

    /// Writes a file whose bytes come one after the other, whatever stands there.
    ///
    /// - Parameters:
    ///   - address: the SHA-256 of the bytes; whatever has another one is not written.
    ///   - fill: passes the bytes on.
    ///   - settle: called with what gives the finished file its name.
    /// - Throws: `.damagedObject` if the bytes are other ones; what `fill` and `settle` throw.
    package func receive(
        _ key: String, _ address: ObjectID,
        from fill: (Sink) throws(StoreError) -> Void,
        settle: (() throws(StoreError) -> Void) throws(StoreError) -> Void
    ) throws(StoreError) {
        _ = try write(key) { (staged) throws(StoreError) in
            try stage(address, as: staged, isDurable: isDurable) {
                (file, digest) throws(StoreError) in
                try fill { (part) throws(StoreError) in
                    digest.update(part)
                    try fileSystem.write(file, part)
                }
            }
        } naming: { (staged, directory, name) throws(StoreError) in
            try settle { () throws(StoreError) in
                try fileSystem.rename(staged.directory, staged.name, to: directory, name)
            }
            return true
        }
    }

    /// Takes bytes, one piece after the other.
    package typealias Sink = (UnsafeRawBufferPointer) throws(StoreError) -> Void

    /// A finished file that has no key yet.
    typealias Staged = (directory: Int32, name: String)
    /// Gives a finished file its name, and says whether it did.
    private typealias Naming = (Staged, _ directory: Int32, _ name: String) throws(StoreError) ->
        Bool

    private func write(
        _ key: String, _ body: StorageBody, _ naming: Naming
    ) throws(StoreError) -> WriteOutcome? {
        count { $0.sentByteCount += body.byteCount }
        return try write(
            key,
            staging: { (staged) throws(StoreError) in
                try stage(body, as: staged, isDurable: isDurable)
            }, naming: naming)
    }

    /// Writes a file aside, and lets `naming` give it its name.
    ///
    /// - Returns: `nil` if `naming` did not.
    private func write(
        _ key: String, staging: (Staged) throws(StoreError) -> FileStatus, naming: Naming
    ) throws(StoreError) -> WriteOutcome? {
        try check(key)
        let aside = try makeDirectory(scratch, in: root.raw)
        let staged = Staged(aside.raw, "put-\(try randomToken())")
        do throws(StoreError) {
            let status = try staging(staged)
            let isNamed = try inDirectory(of: key) { (directory, name) throws(StoreError) in
                let isNamed = try naming(staged, directory, name)
                if isNamed, !hasBarrier { try sync(directory) }
                return isNamed
            }
            // What was linked, or not named, is still there; what was renamed is not.
            try fileSystem.removeIfPresent(staged.directory, staged.name)
            return isNamed ? .stored(EntityTag(status)) : nil
        } catch {
            // Report the first error: a leftover is nobody's, and is removed with the directory for what is not finished.
            try? fileSystem.removeIfPresent(staged.directory, staged.name)
            throw error
        }
    }

    func check(_ key: String) throws(StoreError) {
        guard !isPath(key) else { return }
        throw StoreError(
            .unsupported,
            "\(printable(key)) can be no file in \(printable(place)): a directory takes names of 1 to 255 bytes "
                + "between slashes, but '.', '..' and what begins with \(scratch)/")
    }

    /// Writes the bytes of a body, and holds them against its address.
    /// - Throws: `.damagedObject` if they are other ones; what writing throws.
    func stage(
        _ body: StorageBody, as staged: Staged, isDurable: Bool
    ) throws(StoreError) -> FileStatus {
        try stage(body.address, as: staged, isDurable: isDurable) {
            (file, digest) throws(StoreError) in
            var source = body
            let isCloned = try clone(body, to: file)
            // The blocks are shared; whether their bytes are the right ones is not known yet.
            if isCloned {
                source = StorageBody(file: file, byteCount: body.byteCount, address: body.address)
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(
                byteCount: Int(min(max(body.byteCount, 1), 256 << 10)), alignment: 16)
            defer { buffer.deallocate() }
            var offset: Int64 = 0
            while offset < body.byteCount {
                let count = try source.read(into: buffer, at: offset, fileSystem)
                let part = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                digest.update(part)
                if !isCloned { try fileSystem.write(file, part) }
                offset += Int64(count)
            }
        }
    }

    /// Lets `fill` write a file, and holds the bytes that it had digested against their address.
    private func stage(
        _ address: ObjectID, as staged: Staged, isDurable: Bool,
        _ fill: (_ file: Int32, _ digest: StreamDigest) throws(StoreError) -> Void
    ) throws(StoreError) -> FileStatus {
        let file = try fileSystem.open(staged.directory, staged.name, .creating, mode: 0o644)
        try fileSystem.share(file.raw, rights)
        let digest = StreamDigest(try Digester(.sha256))
        try fill(file.raw, digest)
        guard digest.finish() == address else {
            throw StoreError.damaged(address)
        }
        // Two writes within a tick of the kernel's clock have one time, and perhaps one inode: their tags must differ.
        let second: Int64 = 1_000_000_000
        let seal = 1 + Int64(address.w1 % UInt64(second - 1))
        try fileSystem.setModified(
            staged.directory, staged.name, secondsNow() * second + seal)
        if isDurable { try fileSystem.sync(file.raw) }
        return try fileSystem.status(file.raw)
    }

    /// Has a new file share the blocks of a body's file, if that is just as long.
    /// - Returns: whether it does.
    private func clone(_ body: StorageBody, to file: Int32) throws(StoreError) -> Bool {
        guard case .file(let source) = body.source, body.byteCount > 0,
            canClone.load(ordering: .relaxed),
            try fileSystem.status(source).byteCount == body.byteCount
        else { return false }
        if try fileSystem.clone(source, to: file) { return true }
        canClone.store(false, ordering: .relaxed)
        return false
    }

    /// Gives a finished file a name that nothing has, in one step.
    private func link(
        _ staged: Staged, to directory: Int32, _ name: String
    ) throws(StoreError) {
        do throws(StoreError) {
            try fileSystem.link(staged.directory, staged.name, to: directory, name)
        } catch {
            // A file system without hard links.
            guard error.isLinkRefused || error.isTooManyLinks else { throw error }
            try fileSystem.renameNew(staged.directory, staged.name, to: directory, name)
        }
    }

    /// Lets one process after the other replace files that are there, each for a few calls.
    ///
    /// - Returns: `nil` if somebody has held the turn for a second: whoever was stopped in the middle keeps nobody waiting.
    private func takeTurn() throws(StoreError) -> Descriptor? {
        let aside = try makeDirectory(scratch, in: root.raw)
        let lock = try fileSystem.open(aside.raw, "turn", .updating, mode: 0o600)
        for wait in 0..<50 {
            if try fileSystem.lock(lock.raw, exclusive: true) { return lock }
            pause(milliseconds: Int32(min(wait, 30)))
        }
        return nil
    }

    // MARK: Directories

    /// Calls `body` with the directory of a key, made if need be, and the key's last name.
    func inDirectory<R>(
        of key: String, _ body: (Int32, String) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var names = key.split(separator: "/").map(String.init)
        let last = names.removeLast()
        guard !names.isEmpty else { return try body(root.raw, last) }
        let path = names.joined(separator: "/")
        let there = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.openBeneath(root.raw, path, .directory)
        }
        if let there { return try body(there.raw, last) }
        var directory = try makeDirectory(names[0], in: root.raw)
        for name in names.dropFirst() { directory = try makeDirectory(name, in: directory.raw) }
        return try body(directory.raw, last)
    }

    func makeDirectory(_ name: String, in parent: Int32) throws(StoreError) -> Descriptor {
        if try fileSystem.makeDirectoryIfAbsent(parent, name) {
            if name != scratch { try fileSystem.share(parent, name, rights) }
            if !hasBarrier { try sync(parent) }
        }
        return try fileSystem.open(parent, name, .directory, mode: 0)
    }

    // MARK: Deleting, and what lasts

    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        count()
        var outcome = DeleteOutcome()
        for key in keys {
            do throws(StoreError) {
                try remove(key)
                outcome.deletedCount += 1
            } catch {
                guard error.isOfOneName else { throw error }
                outcome.refused.append((key, error.message))
            }
        }
        return outcome
    }

    /// Removes a file; nothing happens if there is none.
    ///
    /// Its directory stays: somebody may be about to write there.
    package func remove(_ key: String) throws(StoreError) {
        guard try status(of: key) != nil else { return }
        try inDirectory(of: key) { (directory, name) throws(StoreError) in
            try fileSystem.removeIfPresent(directory, name)
        }
    }

    /// Whether one call makes all names durable; else each is when it is given.
    var hasBarrier: Bool { isDurable && fileSystem.canSyncAll }

    func sync(_ file: Int32) throws(StoreError) {
        if isDurable { try fileSystem.sync(file) }
    }

    package func barrier() throws(StoreError) {
        guard hasBarrier, !isSettled.exchange(true, ordering: .relaxed) else { return }
        do throws(StoreError) {
            _ = try fileSystem.syncAll(root.raw)
        } catch {
            isSettled.store(false, ordering: .relaxed)
            throw error
        }
    }
}

/// The SHA-256 of bytes that come one after the other.
///
/// Belongs to one thread.
private final class StreamDigest {
    private var digester: Digester

    init(_ digester: consuming Digester) { self.digester = digester }

    func update(_ bytes: UnsafeRawBufferPointer) { digester.update(bytes) }
    func finish() -> ObjectID { digester.finish { ObjectID(unchecked: $0) } }
}
