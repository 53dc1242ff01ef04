package import Platform
import Synchronization

// Many files at once: their bytes first, which one call makes durable, then their names.

extension DirectoryStorage {
    /// The most that one call makes durable: this much is lost if the process is killed.
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

    /// Whether the files of a batch are made durable one by one: it has few, or nothing makes all durable at once.
    private func isDurableEach(_ batch: Range<Int>) -> Bool {
        !hasBarrier || batch.count <= Self.syncedSinglyMax
    }

    /// A file of many that is written, and has no key yet.
    private struct StagedFile: Sendable {
        let index: Int
        let name: String
        let tag: EntityTag
    }

    /// Writes the bytes of some files aside, on all processors.
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
                    let status = try storage.stage(
                        files[index].body(source.raw), as: (aside, name),
                        isDurable: isDurableEach, isTagged: false)
                    names.withLock {
                        $0.append(StagedFile(index: index, name: name, tag: EntityTag(status)))
                    }
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

    /// Gives files their names; those of one directory follow each other.
    private func name(
        _ staged: [StagedFile], of files: [OutgoingFile], in aside: Int32,
        _ done: (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError) {
        var rest = staged[...]
        while let first = rest.first {
            let key = files[first.index].key
            let parent = key.prefix(
                upTo: key.lastIndex(of: "/").map(key.index(after:)) ?? key.startIndex)
            try inDirectory(of: key) { (directory, _) throws(StoreError) in
                while let file = rest.first {
                    let key = files[file.index].key
                    let name = key.dropFirst(parent.count)
                    guard key.hasPrefix(parent), !name.contains("/") else { break }
                    try rename((aside, file.name), to: directory, String(name))
                    try done(file.index, .stored(file.tag))
                    rest.removeFirst()
                }
                try settle(directory, of: key)
            }
        }
    }

    /// Removes what gets no name; what was named already is not there any more.
    private func drop(_ staged: [StagedFile], in aside: Int32) {
        for file in staged {
            // A leftover is nobody's, and is removed with the directory for what is not finished.
            try? fileSystem.removeIfPresent(aside, file.name)
        }
    }
}
