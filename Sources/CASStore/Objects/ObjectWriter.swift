/// A staged object: append, then commit, suspend or let it vanish.
///
/// The bytes stand in `staging/<address>` until they are complete and verified, locked by their
/// writer. Suspended, they wait there for any process to go on; dropped, they are deleted; after a
/// crash they are as good as suspended.
public struct ObjectWriter: ~Copyable {
    /// The address that the bytes must have in the end.
    public let address: ObjectID
    /// How many bytes they must be.
    public let byteCount: Int64
    /// How many bytes are staged: where to go on.
    ///
    /// More than 0 when an earlier attempt is continued.
    public private(set) var offset: Int64

    private let store: Store
    private let file: Descriptor
    private let labels: [Label]
    private var checker: ObjectChecker
    private var isKept = false
    /// Set when the staged file could not be brought back to what was verified.
    private var isBroken = false

    fileprivate init(
        _ store: Store, _ address: ObjectID, byteCount: Int64, labels: [Label],
        _ file: consuming Descriptor
    ) throws(StoreError) {
        var checker = try ObjectChecker()
        // What is there was written by a process that may have died before its bytes were durable:
        // all of it is hashed again, and the final address decides.
        var staged: Int64 = 0
        while true {
            let count = try store.fileSystem.read(file.raw, into: checker.buffer, at: staged)
            if count == 0 { break }
            checker.update(UnsafeRawBufferPointer(rebasing: checker.buffer[..<count]))
            staged += Int64(count)
        }
        if staged > byteCount {
            try store.fileSystem.truncate(file.raw, to: 0)
            _ = checker.finish()
            staged = 0
        }
        self.store = store
        self.address = address
        self.byteCount = byteCount
        self.labels = labels
        self.file = file
        self.checker = checker
        offset = staged
    }

    deinit {
        guard !isKept else { return }
        // Nobody waits for these bytes; if they cannot be removed now, the collector does it.
        try? store.fileSystem.removeIfPresent(
            store.directories.staging.raw, address.description)
    }

    /// Adds bytes at ``offset``.
    /// - Throws: `.mismatch` beyond ``byteCount``: nothing is written then; `.outOfSpace`, `.io`.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        guard offset + Int64(bytes.byteCount) <= byteCount else {
            throw StoreError(
                .mismatch,
                "more than the promised \(byteCount) bytes came for object \(address)",
                object: address)
        }
        try checkWhole()
        do throws(StoreError) {
            let store = store
            let raw = file.raw
            try bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try store.fileSystem.write(raw, bytes)
            }
        } catch {
            // A write that failed may have left a part: what is staged must be what was hashed.
            isBroken = true
            try store.fileSystem.truncate(file.raw, to: offset)
            isBroken = false
            throw error
        }
        bytes.withUnsafeBytes { checker.update($0) }
        offset += Int64(bytes.byteCount)
    }

    private func checkWhole() throws(StoreError) {
        guard !isBroken else {
            throw StoreError(
                .io,
                "an earlier write to the staged object \(address) failed half-way; begin again",
                object: address)
        }
    }

    /// Starts over: forgets what is staged (a server answered 200 instead of 206).
    public mutating func restart() throws(StoreError) {
        try store.fileSystem.truncate(file.raw, to: 0)
        _ = checker.finish()
        offset = 0
        isBroken = false
    }

    /// Verifies the bytes, makes them durable and publishes them: the object is readable from here.
    ///
    /// - Returns: the names of versions that have become complete by it.
    /// - Throws: `.mismatch` when size, address or a label differ: the staged bytes are deleted, as
    ///   going on with them could never succeed; `.outOfSpace`, `.io`, `.writesRefused`.
    public consuming func commit() throws(StoreError) -> [String] {
        try checkWhole()
        let found = checker.finish()
        let isWhole = try store.fileSystem.status(file.raw).byteCount == byteCount
        guard isWhole, offset == byteCount, found.address == address else {
            throw StoreError(
                .mismatch,
                offset == byteCount && isWhole
                    ? "the bytes that came for object \(address) are those of \(found.address)"
                    : "\(offset) of \(byteCount) bytes came for object \(address)",
                object: address)
        }
        try verifyLabels()
        try store.fileSystem.setMode(file.raw, 0o444)
        try store.sync(file.raw)
        let staging = store.directories.staging.raw
        _ = try store.objects.publish(
            staging, address.description, as: address, checker: &checker)
        // From here on the staged name says that the object may be unknown to the index; whoever
        // comes next records it.
        isKept = true
        try store.syncEntries(of: address)
        let completed = try store.recordPresent([
            StoredObject(address: address, byteCount: byteCount, fingerprint: found.fingerprint)
        ])
        isKept = false
        return completed
    }

    // The labels are rare and the object is on disk: one more pass each is simpler than running
    // every digest beside the first.
    private mutating func verifyLabels() throws(StoreError) {
        for label in labels {
            var digester = try Digester(label.algorithm)
            var position: Int64 = 0
            while true {
                let count = try store.fileSystem.read(
                    file.raw, into: checker.buffer, at: position)
                if count == 0 { break }
                digester.update(UnsafeRawBufferPointer(rebasing: checker.buffer[..<count]))
                position += Int64(count)
            }
            let matches = digester.finish { Array($0) == label.bytes }
            guard matches else {
                throw StoreError(
                    .mismatch, "object \(address) does not match its label \(label)",
                    object: address)
            }
        }
    }

    /// Keeps the staged bytes for a later writer, in this process or another.
    public consuming func suspend() throws(StoreError) {
        try store.sync(file.raw)
        isKept = true
    }
}

extension Store {
    /// Begins or continues to write an object whose address is known.
    ///
    /// - Parameters:
    ///   - labels: what the bytes must match besides the address.
    ///   - lease: protects the object while it lasts; a version must name it before it ends.
    /// - Throws: `.busy` while another writer has it open; `.outOfSpace`, `.writesRefused`.
    public func makeWriter(
        for address: ObjectID, byteCount: Int64, labels: [Label] = [],
        protectedBy lease: borrowing Lease
    ) throws(StoreError) -> ObjectWriter {
        try checkWritable()
        try claim(count: 1, { _ in address }, lease: lease)
        let staged = try fileSystem.status(directories.staging.raw, address.description)
        try checkSpace(for: byteCount - (staged?.byteCount ?? 0))
        let file = try openStaged(address)
        return try ObjectWriter(self, address, byteCount: byteCount, labels: labels, file)
    }

    /// Opens and locks the staged file of an object, made if it is not there.
    private func openStaged(_ address: ObjectID) throws(StoreError) -> Descriptor {
        let staging = directories.staging.raw
        let name = address.description
        while true {
            try touch(staging, name)
            // Writing goes on at the end of what is there; the lock lives as long as the writer.
            guard let file = try fileSystem.openIfPresent(staging, name, .appending) else {
                continue
            }
            guard try fileSystem.lock(file.raw, exclusive: true, waiting: false) else {
                throw StoreError(
                    .busy, "another process is writing object \(address); wait for it",
                    object: address)
            }
            let status = try fileSystem.status(file.raw)
            // Between open and lock another writer may have finished, and the name be gone or new.
            guard let here = try fileSystem.status(staging, name), here.isSameFile(as: status)
            else { continue }
            if status.linkCount == 1 { return file }
            // Its writer died after it had published: this is the object's own file. Leave it alone.
            try fileSystem.removeIfPresent(staging, name)
        }
    }

    private func touch(_ directory: Int32, _ name: String) throws(StoreError) {
        _ = try fileSystem.open(directory, name, .updating, mode: 0o600)
    }

    /// Stores bytes that are in memory.
    /// - Returns: their address. The lease protects the object; a version must name it before the
    ///   lease ends, or the next collection takes it.
    public func put(
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
