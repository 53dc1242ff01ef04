/// A staged object: append, then commit, suspend or drop it.
///
/// The bytes stand in `staging/<address>` until they are complete and verified, locked by their
/// writer. After suspending, they wait there for any process to continue; a dropped writer deletes
/// them; a crash leaves them as suspending would.
package struct ObjectWriter: ~Copyable {
    /// The address that the bytes must have in the end.
    package let address: ObjectID
    /// How many bytes there must be.
    package let byteCount: Int64
    /// How many bytes are staged: where to continue.
    ///
    /// More than 0 when an earlier attempt is continued.
    package var offset: Int64 { staged.offset }

    private let store: Store
    private let labels: [Label]
    private let staged: StagedContent
    private var isKept = false

    fileprivate init(
        _ store: Store, _ address: ObjectID, byteCount: Int64, labels: [Label],
        _ file: consuming Descriptor
    ) throws(StoreError) {
        let staged = try StagedContent(
            store, file, in: store.directories.staging.raw, name: address.description,
            algorithms: labels.map(\.algorithm))
        try staged.readBack(limit: byteCount)
        self.store = store
        self.address = address
        self.byteCount = byteCount
        self.labels = labels
        self.staged = staged
    }

    deinit {
        guard !isKept else { return }
        // Nobody waits for these bytes; if they cannot be removed now, the collector removes them.
        try? store.fileSystem.removeIfPresent(
            store.directories.staging.raw, address.description)
    }

    /// Adds bytes at ``offset``.
    /// - Throws: `.mismatch` beyond ``byteCount``, and nothing is written; `.outOfSpace`, `.io`.
    package mutating func append(_ bytes: RawSpan) throws(StoreError) {
        guard offset + Int64(bytes.byteCount) <= byteCount else {
            throw StoreError(
                .mismatch,
                "more than the promised \(byteCount) bytes came for object \(address)",
                object: address)
        }
        try staged.append(bytes)
    }

    /// Starts over: forgets what is staged (a server answered 200 instead of 206).
    package mutating func restart() throws(StoreError) { try staged.restart() }

    /// Verifies the bytes, makes them durable and publishes them: from now on the object is
    /// readable.
    ///
    /// - Returns: the names of the versions that this completed.
    /// - Throws: `.mismatch` when size, address or a label differ: the staged bytes are deleted,
    ///   because continuing with them could never succeed; `.outOfSpace`, `.io`, `.writesRefused`.
    package consuming func commit() throws(StoreError) -> [String] {
        guard offset == byteCount else {
            throw StoreError(
                .mismatch, "\(offset) of \(byteCount) bytes came for object \(address)",
                object: address)
        }
        let (object, digests) = try staged.finish()
        guard object.address == address else {
            throw StoreError(
                .mismatch,
                "the bytes that came for object \(address) are those of \(object.address)",
                object: address)
        }
        if let label = labels.firstContradicted(by: digests) {
            throw StoreError(
                .mismatch, "object \(address) does not match its label \(label)",
                object: address)
        }
        let raw = staged.file.raw
        try store.fileSystem.setMode(raw, 0o444)
        try store.sync(raw)
        var checker = try ObjectChecker()
        _ = try store.objects.publish(
            staged.directory, address.description, as: address, checker: &checker)
        // From now on the staged name says that the index may not know the object; the next process
        // records it.
        isKept = true
        try store.syncEntries(of: address)
        let completed = try store.recordPresent([object])
        isKept = false
        return completed
    }

    /// Keeps the staged bytes for a later writer, in this process or another.
    package consuming func suspend() throws(StoreError) {
        try store.sync(staged.file.raw)
        isKept = true
    }
}

extension Store {
    /// Begins or continues to write an object whose address is known.
    ///
    /// - Parameters:
    ///   - labels: what else the bytes must match besides the address.
    ///   - lease: protects the object while it lasts; a version must name it before it ends.
    /// - Throws: `.busy` while another writer has it open; `.outOfSpace`, `.writesRefused`.
    package func makeWriter(
        for address: ObjectID, byteCount: Int64, labels: [Label] = [],
        protectedBy lease: borrowing Lease
    ) throws(StoreError) -> ObjectWriter {
        try checkWritable()
        try claim(count: 1, { _ in address }, lease: lease)
        let staged = try fileSystem.status(directories.staging.raw, address.description)
        try checkSpace(for: byteCount - (staged?.byteCount ?? 0))
        guard let file = try openStaged(address.description) else {
            throw StoreError(
                .busy, "another process is writing object \(address); wait for it",
                object: address)
        }
        return try ObjectWriter(self, address, byteCount: byteCount, labels: labels, file)
    }

    /// Stores bytes that are in memory.
    /// - Returns: their address. The lease protects the object; a version must name it before the
    ///   lease ends, or the next collection takes it.
    package func put(
        _ bytes: [UInt8], protectedBy lease: borrowing Lease
    ) throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        let address = bytes.withUnsafeBytes { hasher.hash($0).address }
        try claim(count: 1, { _ in address }, lease: lease)
        if try unvouched([address]).isEmpty,
            let there = try objects.status(address), there.kind == .regular,
            there.byteCount == Int64(bytes.count)
        {
            return address
        }
        var writer = try makeWriter(
            for: address, byteCount: Int64(bytes.count), protectedBy: lease)
        if writer.offset > 0 { try writer.restart() }
        try writer.append(bytes.span.bytes)
        _ = try writer.commit()
        return address
    }
}
