/// One content in transfer: append its bytes as they come, then finish, suspend or discard it.
///
/// Dropping it suspends it as well as possible, so that the next pull continues from the bytes that came. Small
/// content is in memory until then: a killed process loses up to 256 KiB.
public struct IncomingContent: ~Copyable {
    private let incoming: IncomingContents
    private let expected: ExpectedContent
    private var memory: [UInt8] = []
    private var staged: StagedContent?
    private var isEnded = false
    /// Where the bytes come from, as noted by ``note(source:)`` now or in an earlier attempt.
    package private(set) var source: String?

    init(
        _ incoming: IncomingContents, _ expected: ExpectedContent, _ staged: StagedContent?,
        _ source: String?
    ) {
        self.incoming = incoming
        self.expected = expected
        self.staged = staged
        self.source = source
    }

    deinit {
        // Errors cannot be reported here; what cannot be kept is fetched again.
        if !isEnded { try? incoming.suspend(expected, memory, staged, source) }
    }

    /// The name with which it was begun.
    public var name: ObjectID { expected.name }
    /// Its size, if given.
    public var byteCount: Int64? { expected.byteCount }
    /// The number of bytes present, where to continue; more than 0 at first if an earlier attempt is continued.
    public var offset: Int64 { staged?.offset ?? Int64(memory.count) }

    /// Adds bytes at ``offset``.
    /// - Throws: `.mismatch` beyond the given size; `.outOfSpace`, `.io`. Then nothing is added, and the rest stays.
    public mutating func append(_ bytes: RawSpan) throws(StoreError) {
        let end = offset + Int64(bytes.byteCount)
        if let byteCount, end > byteCount {
            throw mismatch("more than the promised \(byteCount) bytes came for it")
        }
        if staged == nil {
            if max(end, byteCount ?? 0) <= Int64(IncomingContents.memoryByteCount) {
                if memory.isEmpty { memory.reserveCapacity(Int(byteCount ?? end)) }
                bytes.withUnsafeBytes { memory.append(contentsOf: $0) }
                return
            }
            staged = try incoming.stage(expected, memory, source)
            memory = []
        }
        try incoming.batch.spaceBudget.take(
            Int64(bytes.byteCount), incoming.store.fileSystem)
        try staged?.append(bytes)
    }

    /// Drops all bytes and starts over, for example because a server answered 200 instead of 206.
    public mutating func restart() throws(StoreError) {
        memory.removeAll(keepingCapacity: true)
        try staged?.restart()
        try note(source: nil)
    }

    /// Notes the source of the bytes that follow, before the first of them.
    ///
    /// Only without a trusted address or label: a later attempt may continue a killed process's part of that source.
    /// - Parameter source: one line; `nil` if nothing names the source, so that parts of two sources could be mixed.
    package mutating func note(source: String?) throws(StoreError) {
        guard expected.isUnproven, source != self.source else { return }
        self.source = source
        if let staged { try incoming.note(source, of: staged, expected) }
    }

    /// Calls `body` with the bytes, in memory or mapped, if they only lead to content and are discarded afterwards.
    /// - Throws: `.io`; what `body` throws.
    package borrowing func withBytes<R>(
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        guard let staged else {
            return try memory.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                try body(bytes)
            }
        }
        let fileSystem = incoming.store.fileSystem
        let file = try fileSystem.open(staged.directory, staged.name, .reading, mode: 0)
        // Another program's change must not end this process.
        guard try fileSystem.status(file.raw).byteCount >= staged.offset else {
            throw mismatch("another program has made its staged file shorter")
        }
        let mapped = try fileSystem.map(file.raw, byteCount: Int(staged.offset), isWritable: false)
        defer { withExtendedLifetime(mapped) {} }
        return try body(mapped.bytes)
    }

    /// Verifies the bytes for ``IncomingContents/commit()``, before which they are neither readable nor durable.
    /// - Parameter isRight: called last, with the digests of the bytes; `false` is a mismatch.
    /// - Returns: the object, and its digests by the algorithms of the labels and the requested ones.
    /// - Throws: `.mismatch` when size, address or a label differ: the bytes are deleted, because continuing with
    ///   them could never succeed (suspend content of which more may come); `.outOfSpace`, `.io`: staged bytes stay.
    public consuming func finish(
        provedBy isRight: ([Label]) throws(StoreError) -> Bool = { (_) throws(StoreError) in true }
    ) throws(StoreError) -> IncomingObject {
        let found: (object: StoredObject, digests: [Label])
        do throws(StoreError) {
            found = try verified(isRight)
        } catch {
            if error.code == .mismatch {
                isEnded = true
                // Report the first error; the next attempt meets the same bytes again.
                try? delete()
            }
            throw error
        }
        try incoming.accept(found.object, expected, memory, staged)
        isEnded = true
        return IncomingObject(object: found.object, digests: found.digests)
    }

    private func verified(
        _ isRight: ([Label]) throws(StoreError) -> Bool
    ) throws(StoreError) -> (object: StoredObject, digests: [Label]) {
        if let byteCount, offset != byteCount {
            throw mismatch("\(offset) of \(byteCount) bytes came for it")
        }
        let found: (object: StoredObject, digests: [Label])
        if let staged {
            found = try staged.finish()
        } else {
            found = try incoming.identify(memory, expected.algorithms)
        }
        guard expected.isPlaceholder || found.object.address == name else {
            throw mismatch("the bytes that came for it are those of \(found.object.address)")
        }
        if let label = expected.labels.firstContradicted(by: found.digests) {
            throw mismatch("its bytes do not match its label \(label)")
        }
        guard try isRight(found.digests) else {
            throw mismatch("its bytes are not those that its publisher has named")
        }
        return found
    }

    private func mismatch(_ what: String) -> StoreError {
        StoreError(.mismatch, "object \(name): \(what)", object: name)
    }

    /// Keeps the bytes for later incoming content of the same name, in this process or another.
    /// - Throws: `.outOfSpace`, `.io`, `.writesRefused`.
    public consuming func suspend() throws(StoreError) {
        isEnded = true
        try incoming.suspend(expected, memory, staged, source)
    }

    /// Deletes the bytes.
    /// - Throws: `.io`, `.permission`, `.readOnly`.
    public consuming func discard() throws(StoreError) {
        isEnded = true
        try delete()
    }

    private func delete() throws(StoreError) {
        guard let staged else { return }
        try incoming.note(nil, of: staged, expected)
        try incoming.store.fileSystem.removeIfPresent(staged.directory, staged.name)
    }
}

/// Finished content.
public struct IncomingObject: Sendable, Hashable {
    /// The address and size of the content.
    public let object: StoredObject
    /// Its digests, one by each algorithm requested.
    public let digests: [Label]

    /// The digest by an algorithm; `nil` if it was not requested.
    public func digest(_ algorithm: DigestAlgorithm) -> Label? {
        digests.first { $0.algorithm == algorithm }
    }
}

struct ExpectedContent {
    /// The name of its file until it is finished.
    let part: PartName
    var name: ObjectID { part.name }
    let byteCount: Int64?
    let isPlaceholder: Bool
    let labels: [Label]
    /// Each once, in a fixed order.
    let algorithms: [DigestAlgorithm]

    init(
        part: PartName, byteCount: Int64?, isPlaceholder: Bool, labels: [Label],
        digests: Set<DigestAlgorithm>
    ) {
        self.part = part
        self.byteCount = byteCount
        self.isPlaceholder = isPlaceholder
        self.labels = labels
        let wanted = digests.union(labels.map(\.algorithm))
        algorithms = wanted.isEmpty ? [] : DigestAlgorithm.allCases.filter { wanted.contains($0) }
    }

    /// Whether neither the name nor a digest can tell right bytes from wrong ones.
    var isUnproven: Bool {
        isPlaceholder && !labels.contains(where: \.algorithm.identifiesContent)
    }
}
