// The stamp with which the index must agree to be trusted.

extension Index {
    private static let stampByteCount = 256

    func readStamp() throws(StoreError) -> IndexStamp? {
        let status = try fileSystem.status(directories.root.raw, StoreLayout.stamp)
        guard let status, status.kind == .regular, status.byteCount <= 4096 else { return nil }
        // It is overwritten in place: a read in the middle of that sees no stamp, the next one does.
        for _ in 0..<3 {
            let bytes: [UInt8]
            do throws(StoreError) {
                bytes = try fileSystem.contents(
                    directories.root.raw, StoreLayout.stamp, limit: 4096)
            } catch {
                // A bad sector means no stamp either: the index is rebuilt, with a new one.
                guard error.isUnreadable else { throw error }
                continue
            }
            // Every transaction reads it; it has seldom changed.
            if let lastStamp, lastStamp.bytes == bytes { return lastStamp.stamp }
            if let stamp = IndexStamp(bytes) {
                lastStamp = (bytes, stamp)
                return stamp
            }
        }
        return nil
    }

    /// Compares the index with the stamp, inside a transaction; returns the generation.
    /// - Parameter writing: whether this transaction excludes other writers.
    /// - Throws: `.index` if the index is outdated, or torn because another process was killed while changing it.
    func checkStamp(_ connection: Connection, writing: Bool) throws(StoreError) -> Int64 {
        let (generation, stamp) = try stampedGeneration(connection)
        guard stamp.committed != stamp.pending else { return generation }
        if writing { throw Self.cutShort }
        // A running writer cannot commit: this transaction holds SQLite's lock.
        guard try locks.excludeWriters(waiting: false) else { return generation }
        defer { locks.admitWriters() }
        guard let now = try readStamp(), now.committed == now.pending else { throw Self.cutShort }
        return generation
    }

    /// The generation of the index, which agrees with the stamp, and the stamp.
    private func stampedGeneration(
        _ connection: Connection
    ) throws(StoreError) -> (generation: Int64, stamp: IndexStamp) {
        let row = try connection.statement(
            "SELECT (SELECT value FROM meta WHERE key = 'epoch'), "
                + "(SELECT value FROM meta WHERE key = 'generation')")
        defer { row.reset() }
        guard try row.step(), let epoch = row.text(0), !row.isNull(1) else {
            throw StoreError(.index, "the index has lost its name")
        }
        guard let stamp = try readStamp() else {
            throw StoreError(.index, "the stamp that must match the index is missing")
        }
        guard stamp.agrees(epoch: epoch, generation: row.integer(1)) else {
            throw StoreError(.index, "the index is older than the store")
        }
        self.epoch = epoch
        return (row.integer(1), stamp)
    }

    /// Announces a transaction before it changes a page: from here on a power cut may tear the index.
    /// - Parameter durably: otherwise the caller makes it durable before the first page is changed.
    func announce(_ generation: Int64, durably: Bool = true) throws(StoreError) {
        try writeStamp(committed: generation - 1, pending: generation, durably: durably)
    }

    func count(_ generation: Int64, _ connection: Connection) throws(StoreError) {
        try connection.statement("UPDATE meta SET value = ? WHERE key = 'generation'")
            .bind(1, generation).run()
    }

    func sync(_ connection: Connection) throws(StoreError) {
        guard options.isDurable else { return }
        try syncFile(connection)
    }

    private func syncFile(_ connection: Connection) throws(StoreError) {
        try fileSystem.sync(directories.root.raw, StoreLayout.index) { () throws(StoreError) in
            try connection.sync()
        }
    }

    /// Makes an index durable together with all that it counted, which may include unsynced work of a killed process.
    func syncAll(_ connection: Connection) throws(StoreError) {
        guard options.isDurable else { return }
        if try !fileSystem.syncAll(directories.root.raw) { try syncFile(connection) }
    }

    /// Records that the transaction is durable; not synced, because losing it only makes the index be rebuilt.
    func commit(_ generation: Int64) throws(StoreError) {
        try writeStamp(committed: generation, pending: generation, durably: false)
    }

    /// Records that the transaction did not happen.
    func withdraw(_ generation: Int64, _ connection: Connection) throws(StoreError) {
        guard try stampedGeneration(connection).generation == generation - 1 else { return }
        try sync(connection)
        try commit(generation - 1)
    }

    private func writeStamp(
        committed: Int64, pending: Int64, durably: Bool
    ) throws(StoreError) {
        let root = directories.root.raw
        var status = try fileSystem.status(root, StoreLayout.index)
        if let mode = status?.mode, mode & 0o077 != 0 {
            // SQLite locks the file itself, so any process that may read it can block all others. An older castree
            // let all read. If this process may not close it, its owner's next command does.
            try? fileSystem.setMode(root, StoreLayout.index, 0o600)
            status = try fileSystem.status(root, StoreLayout.index)
        }
        let stamp = IndexStamp(
            epoch: epoch, committed: committed, pending: pending,
            byteCount: status?.byteCount ?? 0, changedAt: status?.changedAt ?? 0)
        var bytes = stamp.encoded
        // Always of one size: overwriting it needs no new space, even on a full disk.
        bytes.append(
            contentsOf: repeatElement(10, count: max(0, Self.stampByteCount - bytes.count)))
        let file = try fileSystem.open(
            directories.root.raw, StoreLayout.stamp, .updating, mode: 0o644)
        try fileSystem.write(file.raw, bytes)
        if durably, options.isDurable { try fileSystem.sync(file.raw) }
    }

    /// Records that an index is being made, before its file exists, or that it was made and is durable.
    func writeFirstStamp(isMade: Bool) throws(StoreError) {
        // It is overwritten in place. A longer file or a bad sector would leave remains behind the stamp; a file
        // shared with a copy of the store (cp -al) would describe both.
        let (there, isReadable) = try (
            fileSystem.status(directories.root.raw, StoreLayout.stamp), readStamp() != nil
        )
        if let there, there.kind == .regular,
            there.byteCount > Self.stampByteCount || there.linkCount > 1 || !isReadable
        {
            try fileSystem.remove(directories.root.raw, StoreLayout.stamp, directory: false)
        }
        try writeStamp(committed: isMade ? 1 : 0, pending: 1, durably: true)
        // Its directory entry, and that of the index.
        if options.isDurable { try fileSystem.sync(directories.root.raw) }
    }
}

/// The state that an index must agree with to be trusted, kept in the file `stamp` beside it.
///
/// A SQLite file that is replaced by yesterday's copy is an intact database with wrong answers. So every write
/// transaction counts up `generation` inside the index and here: `pending`, durably, before its first page, and
/// `committed` when all is durable. Between the two a power cut or a kill may tear the index. A process that finds them
/// different while no one writes therefore does not trust the index, not even one that it already has open. An index
/// whose generation is neither is outdated. A newer one is trusted: without syncs a power cut may lose the stamp
/// alone. `epoch` names one index file; size and change time (ctime) reveal that another program wrote to it.
///
/// One line of text, then its XXH3-128: a torn stamp is no stamp, and no stamp means a rebuild.
struct IndexStamp: Equatable, Sendable {
    var epoch: String
    var committed: Int64
    var pending: Int64
    /// Size and change time (ctime) of `index.sqlite` after the last committed transaction.
    var byteCount: Int64
    var changedAt: Int64

    var encoded: [UInt8] {
        let line = "castree-stamp 1 \(epoch) \(committed) \(pending) \(byteCount) \(changedAt)\n"
        let sum = Array(line.utf8).withUnsafeBytes { bytes in
            Fingerprinter.fingerprint(bytes).withBytes { Hex.string(Array($0)) }
        }
        return Array((line + sum + "\n").utf8)
    }

    func agrees(epoch: String, generation: Int64) -> Bool {
        epoch == self.epoch
            && (generation == committed || generation == pending || generation > pending)
    }
}

extension IndexStamp {
    /// Decodes the file's bytes; `nil` if they are not a whole stamp.
    init?(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes, as: UTF8.self).split(
            separator: "\n", omittingEmptySubsequences: false)
        guard lines.count >= 2 else { return nil }
        let fields = lines[0].split(separator: " ")
        guard fields.count == 7, fields[0] == "castree-stamp", fields[1] == "1",
            let committed = Int64(fields[3]), let pending = Int64(fields[4]),
            let byteCount = Int64(fields[5]), let changedAt = Int64(fields[6])
        else { return nil }
        self.init(
            epoch: String(fields[2]), committed: committed, pending: pending,
            byteCount: byteCount, changedAt: changedAt)
        guard bytes.starts(with: encoded) else { return nil }
    }
}
