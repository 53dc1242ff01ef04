package import Platform
import Synchronization

// Many files at once: first their bytes, which one call makes durable, then their names.

extension DirectoryStorage {
    /// The most that one call makes durable, and that is lost if the process is killed.
    private static let batchCountMax = 16 * 1_024
    private static let batchByteCountMax: Int64 = 512 << 20

    package func putAll(
        _ files: [OutgoingFile],
        open: @escaping @Sendable (Int) throws(StoreError) -> Descriptor?,
        done: @escaping @Sendable (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError) {
        for file in files { try check(file.key) }
        let aside = try makeDirectory(scratch, in: root.raw)
        defer { withExtendedLifetime(aside) {} }
        var start = 0
        while start < files.count {
            var (end, byteCount) = (start, Int64(0))
            while end < files.count, end - start < Self.batchCountMax,
                end == start || byteCount + files[end].byteCount <= Self.batchByteCountMax
            {
                byteCount += files[end].byteCount
                end += 1
            }
            let batch = start..<end
            let staged = try stage(batch, of: files, in: aside.raw, open)
            do throws(StoreError) {
                if !isDurableEach(batch) { _ = try fileSystem.syncAll(root.raw) }
                try name(
                    staged.sorted { files[$0.index].key < files[$1.index].key }, of: files,
                    in: aside.raw, done)
            } catch {
                drop(staged, in: aside.raw)
                throw error
            }
            start = end
        }
    }

    /// Opens each directory once, which is one call more than a file if files of one directory are adjacent.
    package func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?] {
        var groups: [(directory: Substring, keys: Range<Int>)] = []
        for (index, key) in keys.enumerated() where isPath(key) {
            let directory = key.prefix(upTo: key.utf8.lastIndex(of: 47) ?? key.startIndex)
            if let last = groups.last, last.keys.upperBound == index, last.directory == directory {
                groups[groups.count - 1].keys = last.keys.lowerBound..<index + 1
            } else {
                groups.append((directory, index..<index + 1))
            }
        }
        let found = Mutex([Int64?](repeating: nil, count: keys.count))
        let (all, storage) = (groups, self)
        try inParallel(all.count) { (number) throws(StoreError) in
            if isInterrupted() { throw StoreError(.interrupted, "interrupted") }
            let group = all[number]
            storage.count { $0.requestCount += group.keys.count - 1 }
            let path = group.directory.isEmpty ? "." : String(group.directory)
            guard let directory = try storage.openBeneath(path) else { return }
            let sizes = try group.keys.map { (index) throws(StoreError) in
                let name = keys[index].dropFirst(group.directory.isEmpty ? 0 : path.count + 1)
                let status = try storage.fileSystem.status(directory.raw, String(name))
                return status?.kind == .regular ? status?.byteCount : nil
            }
            found.withLock { $0.replaceSubrange(group.keys, with: sizes) }
        }
        return found.withLock { $0 }
    }

    private func openBeneath(_ path: String) throws(StoreError) -> Descriptor? {
        do throws(StoreError) {
            return try fileSystem.openBeneath(root.raw, path, .directory)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            return nil
        }
    }

    /// Whether to sync the files of a batch one by one, as they are few, or there is no barrier.
    private func isDurableEach(_ batch: Range<Int>) -> Bool {
        !hasBarrier || batch.count <= Self.syncedSinglyMax
    }

    private struct StagedFile: Sendable {
        let index: Int
        let name: String
    }

    private func stage(
        _ batch: Range<Int>, of files: [OutgoingFile], in aside: Int32,
        _ open: @escaping @Sendable (Int) throws(StoreError) -> Descriptor?
    ) throws(StoreError) -> [StagedFile] {
        let storage = self
        let names = Mutex<[StagedFile]>([])
        let token = try randomToken()
        let isDurableEach = isDurableEach(batch)
        do throws(StoreError) {
            try inParallel(batch.count) { (offset) throws(StoreError) in
                let index = batch.lowerBound + offset
                guard let source = try open(index) else { return }
                storage.count { $0.sentByteCount += files[index].byteCount }
                let name = "put-\(token)-\(index)"
                do throws(StoreError) {
                    _ = try storage.stage(
                        files[index].body(source.raw), as: (aside, name),
                        isDurable: isDurableEach, isTagged: false)
                    names.withLock { $0.append(StagedFile(index: index, name: name)) }
                } catch {
                    // Report the first error; a leftover is nobody's.
                    try? storage.fileSystem.removeIfPresent(aside, name)
                    throw error
                }
            }
        } catch {
            drop(names.withLock { $0 }, in: aside)
            throw error
        }
        return names.withLock { $0 }
    }

    /// Names files, of which those of one directory are adjacent.
    private func name(
        _ staged: [StagedFile], of files: [OutgoingFile], in aside: Int32,
        _ done: (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError) {
        var rest = staged[...]
        while let first = rest.first {
            let key = files[first.index].key
            let parent = key.utf8.prefix(
                upTo: key.utf8.lastIndex(of: 47).map(key.utf8.index(after:)) ?? key.startIndex)
            try inDirectory(of: key) { (directory, _) throws(StoreError) in
                while let file = rest.first {
                    let key = files[file.index].key.utf8
                    let name = key.dropFirst(parent.count)
                    guard key.starts(with: parent), !name.contains(47) else { break }
                    try rename((aside, file.name), to: directory, String(Substring(name)))
                    try done(file.index, .stored(nil))
                    rest.removeFirst()
                }
                try commit(directory, of: key)
            }
        }
    }

    /// Removes unnamed files; named ones are not there any more.
    private func drop(_ staged: [StagedFile], in aside: Int32) {
        for file in staged {
            // A leftover is nobody's, and is removed with the directory for unfinished files.
            try? fileSystem.removeIfPresent(aside, file.name)
        }
    }

    // How files are removed, and what makes names durable.

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

    /// Removes a file if there is one; its directory stays, as somebody may be about to write there.
    package func remove(_ key: String) throws(StoreError) {
        guard try status(of: key) != nil else { return }
        try inDirectory(of: key) { (directory, name) throws(StoreError) in
            try fileSystem.removeIfPresent(directory, name)
            try commit(directory, of: key)
        }
    }

    /// Whether one call makes all names durable; otherwise each is synced when it is given.
    var hasBarrier: Bool { isDurable && fileSystem.canSyncAll }

    func sync(_ file: Int32) throws(StoreError) {
        if isDurable { try fileSystem.sync(file) }
    }

    /// Makes the names in the directory of a key durable, at once or with the next barrier.
    func commit(_ directory: Int32, of key: String) throws(StoreError) {
        guard hasBarrier else { return try sync(directory) }
        commitLater(key.lastIndex(of: "/").map { String(key[..<$0]) } ?? ".")
    }

    func commitLater(_ directory: String) {
        uncommitted.withLock { _ = $0.directories.insert(directory) }
    }

    /// The most files or directories synced one by one, rather than the whole file system with others' writes.
    static let syncedSinglyMax = 4

    package func barrier() throws(StoreError) {
        guard hasBarrier else { return }
        let due = uncommitted.withLock { uncommitted in
            defer { uncommitted = Uncommitted(isAll: false) }
            return uncommitted
        }
        do throws(StoreError) {
            if due.isAll || due.directories.count > Self.syncedSinglyMax {
                _ = try fileSystem.syncAll(root.raw)
                return
            }
            for path in due.directories.sorted() {
                let directory = try fileSystem.openBeneath(root.raw, path, .directory)
                try fileSystem.sync(directory.raw)
            }
        } catch {
            uncommitted.withLock { $0.isAll = true }
            throw error
        }
    }
}
