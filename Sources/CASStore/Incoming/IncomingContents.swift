/// Content in transfer: many objects at once, made durable in few steps.
///
/// ```swift
/// let incoming = try IncomingContents(store)
/// var item = try incoming.begin(address, byteCount: 5_000)
/// try item.append(piece)                 // as it comes
/// let arrived = try item.finish()        // whole and right, not yet readable
/// let completed = try incoming.commit()     // durable and readable: acknowledged
/// ```
///
/// Unfinished content is in `staging/<name>` (`PartName`), where later incoming content of the same name continues it,
/// in any process. Finished content is in `staging/<lease>/` until ``commit()``, which makes all of it durable,
/// readable and known in three steps, whatever its number. If the process ends before that, the next writer moves
/// to `staging/<name>` what a registered version lacks. A collection spares finished content, and
/// unfinished content that a writer has open or a registered version is missing.
///
/// For use by one thread. Two processes may bring the same content at once: both succeed.
public final class IncomingContents {
    let store: Store
    let batch: ObjectBatch
    private let lease: Lease
    private var hasher: ObjectHasher
    private var digests: [[DigestAlgorithm]: ContentDigests] = [:]
    private var finished: [Finished] = []
    private var addresses: Set<ObjectID> = []
    private var partCount = 0
    /// The parts in `staging/` at the first look, and those added since.
    private var staged: Set<PartName>?
    private let behind: WriteBehind
    private var isBehind = false
    private var wasBehind = false

    /// Whether incoming contents replace objects that a check has named, so that wrong bytes need not be reported
    /// again.
    package var isMending = false
    /// How many contents are finished but not committed.
    package var uncommittedCount: Int { finished.count }
    package private(set) var uncommittedByteCount: Int64 = 0

    /// Content up to this size stays in memory until it is whole, which takes one write for a small file.
    package static let memoryByteCount = 256 * 1024

    // Finished content, and its placeholder if its address was not known.
    private struct Finished {
        var object: StoredObject
        var placeholder: ObjectID?

        var stagedName: String { IncomingContents.stagedName(object.address, placeholder) }
    }

    /// Its name in the lease's directory, from which recovery reads where the content belongs.
    static func stagedName(_ address: ObjectID, _ placeholder: ObjectID?) -> String {
        placeholder.map { "\($0).\(address)" } ?? address.description
    }

    /// Takes a lease, which protects what arrives as long as this object lives.
    ///
    /// A version must name the content by then, or the next collection deletes it. If that version is registered or
    /// revised after ``commit()``, hold on to this object until then (`withExtendedLifetime`).
    /// - Throws: what taking a lease throws.
    public init(_ store: Store) throws(StoreError) {
        let hasher = try ObjectHasher()
        let lease = try store.makeLease()
        let batch = try ObjectBatch(store, lease: lease)
        self.hasher = hasher
        self.lease = lease
        self.batch = batch
        self.store = store
        behind = WriteBehind(batch)
    }

    // Before the lease ends.
    deinit { behind.endWork() }

    /// Calls `body`, while a second thread stages the small contents that it finishes faster than the disk.
    ///
    /// A killed process may lose 4 MiB of finished content. Errors are thrown by the next finish, or here.
    package func writingBehind(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        isBehind = true
        defer { isBehind = false }
        try body()
        try behind.finish()
    }

    /// Begins content, or continues what an earlier attempt staged.
    ///
    /// Content that another process is staging now is staged separately.
    /// - Parameters:
    ///   - name: its address, or its placeholder in the manifest if the publisher does not tell the address.
    ///   - byteCount: its size, if known.
    ///   - isPlaceholder: `name` is not the address. If no label identifies the bytes either, only what was suspended
    ///     is continued: a power cut may have left holes in anything else.
    ///   - labels: further digests that the bytes must match.
    ///   - digests: further digests that ``IncomingContent/finish(provedBy:)`` reports.
    /// - Throws: `.outOfSpace` if content of a large known size has no space; `.writesRefused`.
    public func begin(
        _ name: ObjectID, byteCount: Int64?, isPlaceholder: Bool = false, labels: [Label] = [],
        digests: Set<DigestAlgorithm> = []
    ) throws(StoreError) -> IncomingContent {
        try begin(
            ExpectedContent(
                part: PartName(name), byteCount: byteCount, isPlaceholder: isPlaceholder,
                labels: labels, digests: digests))
    }

    /// Begins bytes that lead to an object, or continues what an earlier attempt staged.
    ///
    /// Do not finish it: read it with ``IncomingContent/withBytes(_:)``, then discard it.
    /// - Throws: `.outOfSpace`, `.writesRefused`.
    package func begin(_ part: PartName, byteCount: Int64) throws(StoreError) -> IncomingContent {
        try begin(
            ExpectedContent(
                part: part, byteCount: byteCount, isPlaceholder: false, labels: [], digests: []))
    }

    private func begin(_ expected: ExpectedContent) throws(StoreError) -> IncomingContent {
        try store.checkWritable()
        var source: String?
        let staged = try continued(expected, &source)
        if let byteCount = expected.byteCount, byteCount > Self.memoryByteCount {
            try store.checkSpace(for: byteCount - (staged?.offset ?? 0), isAll: false)
        }
        return IncomingContent(self, expected, staged, source)
    }

    private func continued(
        _ expected: ExpectedContent, _ source: inout String?
    ) throws(StoreError) -> StagedContent? {
        let staging = store.directories.staging.raw
        // With many small contents, looking for each costs too much.
        if let byteCount = expected.byteCount, byteCount <= Self.memoryByteCount,
            try !isStaged(expected.part)
        {
            return nil
        }
        let name = expected.part.description
        guard let status = try store.fileSystem.status(staging, name) else { return nil }
        guard let file = try store.openStaged(name) else { return nil }
        let staged = try StagedContent(
            store, file, in: staging, name: name, algorithms: expected.algorithms)
        if expected.isUnproven {
            let noted = try PartSource(store, expected.name).read()
            let isSuspended = status.mode & 0o777 == Self.suspendedMode
            guard isSuspended || noted?.isOfThisBoot == true else {
                try staged.restart()
                try note(nil, of: staged, expected)
                return staged
            }
            source = noted?.source
            if isSuspended {
                // Durable before the next bytes, which a power cut could tear.
                try store.fileSystem.setMode(staged.file.raw, 0o600)
                try store.sync(staged.file.raw)
            }
        }
        try staged.readBack(limit: expected.byteCount)
        return staged
    }

    private func isStaged(_ part: PartName) throws(StoreError) -> Bool {
        try parts().contains(part)
    }

    private func parts() throws(StoreError) -> Set<PartName> {
        if let staged { return staged }
        let names = try store.fileSystem.names(in: store.directories.staging.raw)
        let found = Set(names.compactMap { PartName($0) })
        staged = found
        return found
    }

    package func hasPart(leadingTo isWanted: (ObjectID) -> Bool) throws(StoreError) -> Bool {
        try parts().contains { $0.leadsTo.map { isWanted($0.object) } ?? false }
    }

    /// The mode of a staged file whose bytes are all durable.
    private static let suspendedMode: UInt32 = 0o640

    /// Creates a file for content that is too large for memory, with the bytes so far.
    func stage(
        _ expected: ExpectedContent, _ bytes: [UInt8], _ source: String?
    ) throws(StoreError) -> StagedContent {
        try batch.spaceBudget.take(Int64(bytes.count), store.fileSystem)
        let staged = try emptyFile(expected)
        try note(source, of: staged, expected)
        try staged.append(bytes.span.bytes)
        return staged
    }

    private func emptyFile(_ expected: ExpectedContent) throws(StoreError) -> StagedContent {
        let staging = store.directories.staging.raw
        let name = expected.part.description
        if let file = try store.openStaged(name) {
            self.staged?.insert(expected.part)
            let staged = try StagedContent(
                store, file, in: staging, name: name, algorithms: expected.algorithms)
            try staged.restart()
            return staged
        }
        // Another process has that name: ours goes into our lease's directory.
        partCount += 1
        let part = "part-\(partCount)"
        let file = try store.fileSystem.open(batch.directory.raw, part, .creating, mode: 0o600)
        return try StagedContent(
            store, file, in: batch.directory.raw, name: part, algorithms: expected.algorithms)
    }

    func note(
        _ source: String?, of staged: StagedContent, _ expected: ExpectedContent
    ) throws(StoreError) {
        // A part in the lease's directory goes when the lease does.
        guard expected.isUnproven, staged.directory == store.directories.staging.raw else {
            return
        }
        let part = PartSource(store, expected.name)
        if let source { try part.note(source) } else { try part.remove() }
    }

    func suspend(
        _ expected: ExpectedContent, _ memory: [UInt8], _ staged: StagedContent?,
        _ source: String?
    ) throws(StoreError) {
        guard !memory.isEmpty || staged != nil else { return }
        let kept: StagedContent
        if let staged { kept = staged } else { kept = try stage(expected, memory, source) }
        // Closing is not enough: a child that is just starting has it open, too (fork(2)).
        defer { store.fileSystem.unlock(kept.file.raw) }
        // If a power cut takes a small part, little has to be fetched again.
        guard kept.offset > Self.memoryByteCount || expected.isUnproven else { return }
        try store.sync(kept.file.raw)
        guard expected.isUnproven else { return }
        try PartSource(store, expected.name).sync()
        try store.fileSystem.setMode(kept.file.raw, Self.suspendedMode)
    }

    /// Deletes a part that is no longer wanted, unless another process has it.
    package func discard(_ part: PartName) throws(StoreError) {
        guard try isStaged(part),
            let file = try store.fileSystem.openIfPresent(
                store.directories.staging.raw, part.description, .reading),
            try store.fileSystem.lock(file.raw, exclusive: true)
        else { return }
        try store.fileSystem.removeIfPresent(
            store.directories.staging.raw, part.description)
    }

    /// Disk space for content that is too large for the heap, mapped as memory and freed with the value.
    /// - Throws: `.outOfSpace`, `.io`.
    package func makeScratch(byteCount: Int) throws(StoreError) -> MappedFile {
        let fileSystem = store.fileSystem
        partCount += 1
        let name = "scratch-\(partCount)"
        let file = try fileSystem.open(batch.directory.raw, name, .updating, mode: 0o600)
        // From here on the file has no name, and ends with the mapping.
        try fileSystem.removeIfPresent(batch.directory.raw, name)
        try store.checkSpace(for: Int64(byteCount), isAll: false)
        // A write through a mapping that finds no space would end the process.
        try fileSystem.reserve(file.raw, Int64(byteCount))
        return try fileSystem.map(file.raw, byteCount: byteCount, isWritable: true)
    }

    /// Reserves an existing object, which no collection deletes as long as this value lives.
    /// - Returns: `false` if it is not there.
    package func rely(on address: ObjectID) throws(StoreError) -> Bool {
        try store.reserve(count: 1, { _ in address }, lease: lease)
        return try store.unproven([address]).isEmpty
    }

    func identify(
        _ bytes: [UInt8], _ algorithms: [DigestAlgorithm]
    ) throws(StoreError) -> (object: StoredObject, digests: [Label]) {
        let raw = bytes.span.bytes
        let (address, fingerprint) = raw.withUnsafeBytes { hasher.hash($0) }
        let object = StoredObject(
            address: address, byteCount: Int64(bytes.count), fingerprint: fingerprint)
        guard !algorithms.isEmpty else { return (object, []) }
        let digests: ContentDigests
        if let known = self.digests[algorithms] {
            digests = known
        } else {
            digests = try ContentDigests(algorithms)
            self.digests[algorithms] = digests
        }
        raw.withUnsafeBytes { digests.update($0) }
        return (object, digests.finish(address: address))
    }

    /// Takes over complete, verified content, which now waits for ``commit()``.
    func accept(
        _ object: StoredObject, _ expected: ExpectedContent, _ memory: [UInt8],
        _ staged: StagedContent?
    ) throws(StoreError) {
        let isNew = addresses.insert(object.address).inserted
        guard isNew else {
            if let staged {
                try note(nil, of: staged, expected)
                try store.fileSystem.removeIfPresent(staged.directory, staged.name)
            }
            return
        }
        let one = Finished(
            object: object, placeholder: expected.isPlaceholder ? expected.name : nil)
        if staged == nil, isBehind {
            wasBehind = true
            // It keeps this one even if it throws, which is about an earlier one.
            note(one)
            return try behind.add(memory, as: one.stagedName)
        }
        do throws(StoreError) {
            if let staged {
                // In this order: a part without a note is begun anew; a note without a part would never be removed.
                try note(nil, of: staged, expected)
                try store.fileSystem.setMode(staged.file.raw, 0o444)
                try store.fileSystem.rename(
                    staged.directory, staged.name, to: batch.directory.raw, one.stagedName)
            } else {
                try batch.write(memory, as: one.stagedName)
            }
        } catch {
            addresses.remove(object.address)
            throw error
        }
        note(one)
    }

    private func note(_ one: Finished) {
        finished.append(one)
        uncommittedByteCount += one.object.byteCount
    }

    /// Makes everything finished since the last call durable, readable and known.
    ///
    /// When it returns, all of it survives a power cut. When it throws, nothing is lost and it may be called again,
    /// but after a failed sync only once the store has been reopened.
    /// - Returns: the names of the versions that this completed.
    /// - Throws: `.outOfSpace`, `.io`, `.writesRefused`, `.interrupted`, what the index throws.
    @discardableResult
    public func commit() throws(StoreError) -> [String] {
        guard !finished.isEmpty else { return [] }
        try store.checkWritable()
        try behind.finish()
        // In the index's own order each of its pages is read and written once, whatever the cache holds.
        finished.sort { $0.object.address < $1.object.address }
        let objects = finished.map(\.object)
        // This waits for a collector that has announced the deletion of one of them.
        try store.reserve(count: objects.count, { objects[$0].address }, lease: lease)
        try store.syncAll(orEach: batch.directory.raw, finished.lazy.map(\.stagedName))
        for position in finished.indices where finished[position].placeholder != nil {
            try store.fileSystem.rename(
                batch.directory.raw, finished[position].stagedName, to: batch.directory.raw,
                objects[position].address.description)
            finished[position].placeholder = nil
        }
        try batch.publish(count: objects.count, mending: isMending) { objects[$0].address }
        // Makes their names durable together with the record.
        let completed = try store.writing { (index) throws(StoreError) in
            for object in objects { try index.setPresent(object) }
            return try index.completeVersions()
        } syncing: { (index) throws(StoreError) in
            try self.store.syncAll(with: index)
        }
        if wasBehind {
            behind.dropStagedNames(objects.map(\.address))
        } else {
            for object in objects {
                // Recorded, so this is only tidying: what stays goes when the lease does.
                try? batch.dropStagedName(object.address)
            }
        }
        finished.removeAll(keepingCapacity: true)
        addresses.removeAll(keepingCapacity: true)
        uncommittedByteCount = 0
        return completed
    }
}
