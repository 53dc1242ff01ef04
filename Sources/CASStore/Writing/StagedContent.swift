/// A growing staged file with the hash of its bytes so far; locked by this process and used by one thread.
final class StagedContent {
    let file: Descriptor
    let directory: Int32
    let name: String
    private(set) var offset: Int64 = 0

    private let fileSystem: any FileSystem
    private let digests: ContentDigests
    private var hasher: ObjectHasher
    /// Set when the file could not be cut back to what was hashed.
    private var isBroken = false

    init(
        _ store: Store, _ file: consuming Descriptor, in directory: Int32, name: String,
        algorithms: [DigestAlgorithm]
    ) throws(StoreError) {
        let digests = try ContentDigests(algorithms)
        let hasher = try ObjectHasher()
        self.file = file
        self.directory = directory
        self.name = name
        self.digests = digests
        self.hasher = hasher
        fileSystem = store.fileSystem
    }

    /// Hashes what an earlier writer staged, perhaps not durably; discards it if it has more than `limit` bytes.
    func readBack(limit: Int64?) throws(StoreError) {
        let byteCount = try fileSystem.status(file.raw).byteCount
        guard byteCount > 0 else { return }
        if let limit, byteCount > limit { return try restart() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: ObjectChecker.bufferByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        try fileSystem.forEachPiece(of: file.raw, buffer: buffer) { (piece) throws(StoreError) in
            hash(piece)
        }
    }

    /// - Throws: `.outOfSpace`, `.io`; then nothing is added, and the caller may try again.
    func append(_ bytes: RawSpan) throws(StoreError) {
        try checkWhole()
        do throws(StoreError) {
            try bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try fileSystem.write(file.raw, bytes)
            }
        } catch {
            // A failed write may have left a part: what is staged must be what was hashed.
            isBroken = true
            try fileSystem.truncate(file.raw, to: offset)
            isBroken = false
            throw error
        }
        bytes.withUnsafeBytes { hash($0) }
    }

    private func hash(_ bytes: UnsafeRawBufferPointer) {
        hasher.update(bytes)
        digests.update(bytes)
        offset += Int64(bytes.count)
    }

    private func checkWhole() throws(StoreError) {
        guard !isBroken else {
            throw StoreError(
                .io, "an earlier write to the staged file \(name) failed half-way; begin again")
        }
    }

    func restart() throws(StoreError) {
        try fileSystem.truncate(file.raw, to: 0)
        _ = hasher.finish()
        digests.reset()
        offset = 0
        isBroken = false
    }

    /// The object that the staged bytes are, and the requested digests.
    /// - Throws: `.mismatch` if another program has written to the file.
    func finish() throws(StoreError) -> (object: StoredObject, digests: [Label]) {
        try checkWhole()
        guard try fileSystem.status(file.raw).byteCount == offset else {
            throw StoreError(
                .mismatch, "the staged file \(name) was changed by another program; begin again")
        }
        let (address, fingerprint) = hasher.finish()
        let object = StoredObject(
            address: address, byteCount: offset, fingerprint: fingerprint)
        return (object, digests.finish(address: address))
    }
}

extension Store {
    /// Opens and locks the file `staging/<name>`, creating it if it is absent.
    /// - Returns: `nil` while another writer has it.
    func openStaged(_ name: String) throws(StoreError) -> Descriptor? {
        let staging = directories.staging.raw
        while true {
            do throws(StoreError) {
                _ = try fileSystem.open(staging, name, .updating, mode: 0o600)
            } catch {
                if error.code == .permission, try makeWritable(name) { continue }
                guard try setStrangerAside(name) else { throw error }
                continue
            }
            // Writing continues at the end of the file; the lock lives as long as the writer.
            guard let file = try fileSystem.openIfPresent(staging, name, .appending) else {
                continue
            }
            guard try fileSystem.lock(file.raw, exclusive: true) else {
                return nil
            }
            let status = try fileSystem.status(file.raw)
            if status.kind != .regular, try setStrangerAside(name) { continue }
            // Between open and lock another writer may have finished, and the name may be gone or new.
            guard let here = try fileSystem.status(staging, name), here.isSameFile(as: status)
            else { continue }
            if try !isPublished(staging, name, status) { return file }
            // Its writer died after publishing: this is the object's own file. Leave it alone.
            try fileSystem.removeIfPresent(staging, name)
        }
    }

    /// Moves a stranger's file in place of a part to quarantine, with a notice.
    /// - Returns: `false` if a file of this user is there, or nothing.
    private func setStrangerAside(_ name: String) throws(StoreError) -> Bool {
        let staging = directories.staging.raw
        guard let status = try fileSystem.status(staging, name) else { return false }
        let root = try fileSystem.status(directories.root.raw)
        guard status.kind != .regular || status.owner != root.owner else { return false }
        try fileSystem.move(
            staging, name, to: directories.quarantine.raw, try StoreLayout.aside("part"))
        options.notice(
            "something that is no file of this store stood at \(StoreLayout.staging)/\(name); it is in "
                + "\(StoreLayout.quarantine) now")
        return true
    }

    // A writer that died just before it published left the file with the mode of an object.
    private func makeWritable(_ name: String) throws(StoreError) -> Bool {
        guard
            let file = try fileSystem.openIfPresent(directories.staging.raw, name, .reading),
            try fileSystem.lock(file.raw, exclusive: true),
            try !isPublished(
                directories.staging.raw, name, fileSystem.status(file.raw))
        else { return false }
        try fileSystem.setMode(file.raw, 0o600)
        return true
    }
}
