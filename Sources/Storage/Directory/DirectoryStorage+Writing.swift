package import Platform
import Synchronization

extension DirectoryStorage {
    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        count { $0.sentByteCount += body.byteCount }
        return try write(key) { (staged) throws(StoreError) in
            try stage(body, as: staged, isDurable: isDurable)
        } naming: { (staged, directory, name) throws(StoreError) in
            switch condition {
            case .none: try replace(staged, in: directory, name)
            case .absent: try create(staged, in: directory, name)
            case .matching(let tag, _): try replace(tag, by: staged, in: directory, name)
            }
        } ?? .conditionFailed
    }

    private func replace(
        _ staged: Staged, in directory: Int32, _ name: String
    ) throws(StoreError) -> Bool {
        // Takes turns with replacements by tag, which compare the existing file first.
        let isThere = try fileSystem.status(directory, name) != nil
        let lock = isThere ? try takeTurn() : nil
        defer { withExtendedLifetime(lock) {} }
        try rename(staged, to: directory, name)
        return true
    }

    private func create(
        _ staged: Staged, in directory: Int32, _ name: String
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try link(staged, to: directory, name)
            return true
        } catch {
            guard error.isExisting else { throw error }
            return try replaceStranger(staged, in: directory, name)
        }
    }

    private func replace(
        _ tag: EntityTag, by staged: Staged, in directory: Int32, _ name: String
    ) throws(StoreError) -> Bool {
        let lock = try takeTurn()
        defer { withExtendedLifetime(lock) {} }
        guard let there = try fileSystem.status(directory, name), there.kind == .regular,
            EntityTag(there) == tag
        else { return false }
        try fileSystem.rename(staged.directory, staged.name, to: directory, name)
        return true
    }

    /// Gives a finished file a name that belongs to something other than a file.
    /// - Returns: whether it did; an existing file stays as it is.
    private func replaceStranger(
        _ staged: Staged, in directory: Int32, _ name: String
    ) throws(StoreError) -> Bool {
        let lock = try takeTurn()
        defer { withExtendedLifetime(lock) {} }
        guard let there = try fileSystem.status(directory, name), there.kind != .regular,
            there.kind != .directory || rescue.setAside != nil
        else { return false }
        try rename(staged, to: directory, name)
        return true
    }

    /// Renames a finished file over whatever has the name; a directory may be set aside.
    func rename(_ staged: Staged, to directory: Int32, _ name: String) throws(StoreError) {
        do throws(StoreError) {
            try fileSystem.rename(staged.directory, staged.name, to: directory, name)
        } catch {
            guard try fileSystem.status(directory, name)?.kind == .directory,
                try setAside(directory, name)
            else { throw error }
            try fileSystem.rename(staged.directory, staged.name, to: directory, name)
        }
    }

    /// Moves what is in place of a file to the unfinished files, as its content is somebody's.
    /// - Returns: whether that is allowed.
    private func setAside(_ directory: Int32, _ name: String) throws(StoreError) -> Bool {
        guard let tell = rescue.setAside else { return false }
        let aside = "aside-\(try randomToken())"
        try fileSystem.rename(directory, name, to: root.raw, "\(scratch)/\(aside)")
        tell(name, aside)
        return true
    }

    /// Writes a file from pieces over whatever is there.
    /// - Parameters:
    ///   - address: the SHA-256 of the bytes; others are not written.
    ///   - fill: passes the bytes on.
    ///   - commit: gets a closure that names the finished file.
    /// - Throws: `.damagedObject` if the bytes differ; what `fill` and `commit` throw.
    package func receive(
        _ key: String, _ address: ObjectID,
        from fill: (Sink) throws(StoreError) -> Void,
        commit: (() throws(StoreError) -> Void) throws(StoreError) -> Void
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
            try commit { () throws(StoreError) in
                try fileSystem.rename(staged.directory, staged.name, to: directory, name)
            }
            return true
        }
    }

    package typealias Sink = (UnsafeRawBufferPointer) throws(StoreError) -> Void

    /// A finished file that has no key yet.
    typealias Staged = (directory: Int32, name: String)
    private typealias Naming = (Staged, _ directory: Int32, _ name: String) throws(StoreError) ->
        Bool

    /// - Returns: `nil` if `naming` did not name the file.
    private func write(
        _ key: String, staging: (Staged) throws(StoreError) -> EntityTag?, naming: Naming
    ) throws(StoreError) -> WriteOutcome? {
        try check(key)
        while true {
            do throws(StoreError) {
                return try writeOnce(key, staging, naming)
            } catch {
                guard error.isDiskFull, try rescue.makeSpace(root.raw) else { throw error }
            }
        }
    }

    private func writeOnce(
        _ key: String, _ staging: (Staged) throws(StoreError) -> EntityTag?, _ naming: Naming
    ) throws(StoreError) -> WriteOutcome? {
        let aside = try makeDirectory(scratch, in: root.raw)
        let staged = Staged(aside.raw, "put-\(try randomToken())")
        // A linked or unnamed file is still there; a renamed one is not. A file that cannot be removed does not
        // change the outcome: it is nobody's, and is removed with the directory for unfinished files.
        defer { try? fileSystem.removeIfPresent(staged.directory, staged.name) }
        let tag = try staging(staged)
        let isNamed = try inDirectory(of: key) { (directory, name) throws(StoreError) in
            let isNamed = try naming(staged, directory, name)
            if isNamed { try commit(directory, of: key) }
            return isNamed
        }
        return isNamed ? .stored(tag) : nil
    }

    func check(_ key: String) throws(StoreError) {
        guard !isPath(key) else { return }
        throw StoreError(
            .unsupported,
            "\(printable(key)) can be no file in \(printable(place)): a directory takes names of 1 to 255 bytes "
                + "between slashes, but '.', '..' and what begins with \(scratch)/")
    }

    /// Writes the bytes of a body, and compares them with its address.
    /// - Throws: `.damagedObject` if they differ; what writing throws.
    func stage(
        _ body: StorageBody, as staged: Staged, isDurable: Bool, isTagged: Bool = true
    ) throws(StoreError) -> EntityTag? {
        try stage(body.address, as: staged, isDurable: isDurable, isTagged: isTagged) {
            (file, digest) throws(StoreError) in
            var source = body
            let isCloned = try clone(body, to: file)
            // The blocks are shared, but their bytes are not verified yet.
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

    private func stage(
        _ address: ObjectID, as staged: Staged, isDurable: Bool, isTagged: Bool = true,
        _ fill: (_ file: Int32, _ digest: inout Digester) throws(StoreError) -> Void
    ) throws(StoreError) -> EntityTag? {
        // No more than the rights to share either: a writer with another umask changes nobody's.
        let mode: UInt32 = rights == 0 ? 0o666 : rights | 0o600
        let file = try fileSystem.open(staged.directory, staged.name, .creating, mode: mode)
        try fileSystem.share(file.raw, rights)
        var digest = try Digester(.sha256)
        try fill(file.raw, &digest)
        guard digest.finish({ ObjectID(unchecked: $0) }) == address else {
            throw StoreError.damaged(address)
        }
        if isTagged { try tag(staged, address) }
        if isDurable { try fileSystem.sync(file.raw) }
        return isTagged ? EntityTag(try fileSystem.status(file.raw)) : nil
    }

    /// Gives a file a time of its own.
    ///
    /// Two writes within a tick of the kernel's clock have one time, and perhaps one inode, but their tags must
    /// differ. Nobody asks for the tags of a batch.
    private func tag(_ staged: Staged, _ address: ObjectID) throws(StoreError) {
        let second: Int64 = 1_000_000_000
        let seal = 1 + Int64(address.w1 % UInt64(second - 1))
        try fileSystem.setModified(staged.directory, staged.name, secondsNow() * second + seal)
    }

    /// Makes a new file share the blocks of a body's file, if the sizes match.
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

    private func link(_ staged: Staged, to directory: Int32, _ name: String) throws(StoreError) {
        do throws(StoreError) {
            try fileSystem.link(staged.directory, staged.name, to: directory, name)
        } catch {
            // A file system without hard links.
            guard error.isLinkRefused || error.isTooManyLinks else { throw error }
            try fileSystem.renameNew(staged.directory, staged.name, to: directory, name)
        }
    }

    /// Lets processes replace existing files in turn, each for a few calls.
    /// - Throws: `.busy`, with the reason, if another process holds the turn for 10 seconds, or for one while stopped.
    private func takeTurn() throws(StoreError) -> FileLock {
        let aside = try makeDirectory(scratch, in: root.raw)
        let file = try openTurn(in: aside.raw)
        let status = try fileSystem.status(file.raw)
        let lock = FileLock(file, fileSystem)
        var holder = LockHolder.unknown
        for wait in 1...350 {
            if try lock.take() { return lock }
            pause(milliseconds: Int32(min(wait, 30)))
            guard wait % 50 == 0 else { continue }
            holder = .find(of: status)
            if holder.isStopped { break }
        }
        throw StoreError(
            .busy,
            "\(holder.description) is writing a file in \(place) and does not finish; let it continue, or end it, then repeat "
                + "the command")
    }

    private static let turn = "turn"

    private func openTurn(in aside: Int32) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.openLock(aside, Self.turn, rights)
        } catch {
            guard let there = try fileSystem.status(aside, Self.turn), there.kind != .regular,
                try setAside(aside, Self.turn)
            else { throw error }
            return try fileSystem.openLock(aside, Self.turn, rights)
        }
    }

    // MARK: Directories

    /// Calls `body` with the directory of a key, created if need be, and the key's last name.
    func inDirectory<R>(
        of key: String, _ body: (Int32, String) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        var names = key.split(separator: "/").map(String.init)
        let last = names.removeLast()
        guard !names.isEmpty else { return try body(root.raw, last) }
        let path = names.joined(separator: "/")
        if let there = try openIfThere(path) { return try body(there.raw, last) }
        var directory = try makeDirectory(names[0], in: root.raw)
        for (depth, name) in names.enumerated().dropFirst() {
            directory = try makeDirectory(
                name, in: directory.raw, names[..<depth].joined(separator: "/"))
        }
        return try body(directory.raw, last)
    }

    private func openIfThere(_ path: String) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openBeneath(root.raw, path, .directory)
        } catch {
            // A repair sets obstacles aside when it creates the directory.
            guard error.code == .notFound || rescue.mendsDirectories && error.isNotDirectory else {
                throw error
            }
            return nil
        }
    }

    func makeDirectory(
        _ name: String, in parent: Int32, _ path: String = "."
    ) throws(StoreError) -> Descriptor {
        if try fileSystem.makeDirectoryIfAbsent(parent, name, mode: 0o777) {
            if name != scratch { try fileSystem.share(parent, name, rights) }
            if !hasBarrier { try sync(parent) }
        }
        // Other writers need it, too. Only its owner can set the mode, and their next command does.
        if name == scratch { _ = try? fileSystem.share(parent, name, rights.ofWriters) }
        // A faster process may die before it is durable.
        if hasBarrier, name != scratch { commitLater(path) }
        do throws(StoreError) {
            return try fileSystem.open(parent, name, .directory, mode: 0)
        } catch {
            guard error.isNotDirectory else { throw error }
            if rescue.mendsDirectories, name != scratch, try setAside(parent, name) {
                return try makeDirectory(name, in: parent, path)
            }
            throw StoreError(
                .io,
                "\(printable(name)) in \(printable(place)) is no directory of the origin: delete it, and repeat the "
                    + "command", cause: error.cause)
        }
    }
}
