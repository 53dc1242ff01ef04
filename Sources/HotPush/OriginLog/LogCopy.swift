import CASStore
import Storage

/// A file that says what the log says, for those who do not read the log.
protocol LogCopy {
    /// What stands there.
    associatedtype Seen: SeenCopy

    var key: String { get }
    /// What stands there.
    func read(_ log: OriginLog) throws(StoreError) -> Seen
    /// Whether what stands there is as new as a state, or newer.
    /// - Throws: `.damagedOrigin` if it names an entry that the log does not show: somebody else has written it.
    func isAsNew(_ seen: Seen, as state: OriginState, _ log: OriginLog) throws(StoreError) -> Bool
    /// What it should be; `nil` for nothing.
    func bytes(in state: OriginState, _ log: OriginLog, near seen: Seen) throws(StoreError)
        -> [UInt8]?
    /// Called after it was written.
    /// - Parameter isNew: whether nothing stood there.
    func wasWritten(of state: OriginState, isNew: Bool, _ log: OriginLog) throws(StoreError)
}

/// What stands in the place of a copy.
protocol SeenCopy {
    /// The tag of the file; `nil` if there is none.
    var tag: EntityTag? { get }
}

extension LogCopy {
    func wasWritten(of state: OriginState, isNew: Bool, _ log: OriginLog) throws(StoreError) {}

    /// The bytes that stand there, none if they are too many; and the tag of the file, `nil` if there is none.
    func contents(
        in storage: any ObjectStorage, limit: Int
    ) throws(StoreError) -> (bytes: [UInt8], tag: EntityTag?) {
        do throws(StoreError) {
            let (outcome, bytes) = try storage.bytes(
                key, ReadRequest(byteCountMax: Int64(limit)))
            if case .found(let file) = outcome { return (bytes, file.tag) }
            return ([], nil)
        } catch {
            guard error.code == .tooLarge else { throw error }
            return ([], try storage.head(key)?.tag)
        }
    }

    /// The entry that a copy names which is newer than the state.
    /// - Throws: `.damagedOrigin` if the log does not show it.
    func newer(_ number: Int64, in log: OriginLog) throws(StoreError) -> LogEntry {
        if number <= LogEntry.numberMax, let entry = try log.countedEntry(number) { return entry }
        throw log.lacks(number, namedBy: key)
    }
}

/// Writes copies of what the log says, as far as they lag behind.
struct CopyWriting {
    let log: OriginLog
    let pause: (Int) -> Void

    /// So often somebody else may be faster before the next command is left to do it.
    private static let tryCountMax = 16

    init(_ log: OriginLog, _ pause: @escaping (Int) -> Void) {
        self.log = log
        self.pause = pause
    }

    /// Writes a copy, unless it is as new as the log, or newer.
    ///
    /// - Parameters:
    ///   - seen: what stood there when the command began.
    ///   - isForced: whether it is written even if what stands there says that it is newer: no entry has it.
    func write<Copy: LogCopy>(
        _ copy: Copy, of state: OriginState, seen: Copy.Seen? = nil, isForced: Bool = false
    ) throws(StoreError) {
        var state = state
        var seen = seen
        var isForced = isForced
        // Entry 1 has them: nobody asks for it who writes nothing.
        var known: ArraySlice<TagSpelling>?
        var refusedTag: EntityTag?
        for tryNumber in 1...Self.tryCountMax {
            let there = if let seen { seen } else { try copy.read(log) }
            let tag = there.tag
            if let refusedTag, refusedTag == tag {
                // Nobody has written it since, and still the store says so: it takes tags otherwise.
                _ = known?.popFirst()
            } else if refusedTag != nil {
                // Somebody else may have written what an entry has.
                isForced = false
            }
            refusedTag = nil
            if !isForced, try copy.isAsNew(there, as: state, log) { return }
            guard let bytes = try copy.bytes(in: state, log, near: there) else { return }
            let spellings = if let known { known } else { try self.spellings()[...] }
            known = spellings
            let isPlain = spellings.isEmpty
            if seen.take() != nil, isPlain { continue }
            let outcome = try replace(copy.key, tag, spellings.first, by: bytes)
            switch outcome {
            case .stored:
                try copy.wasWritten(of: state, isNew: tag == nil, log)
                guard isPlain, let newer = try log.state(from: state.number),
                    newer.number > state.number
                else { return }
                // Without a condition it may have replaced a newer one.
                state = newer
            case .conditionFailed, .conflict, .unknown:
                if case .conditionFailed = outcome { refusedTag = tag } else { isForced = false }
                pause(Backoff.log.milliseconds(failureCount: tryNumber))
            case .unsupported:
                if tag == nil { throw LogCommit.unsuitable(log.storage) }
                known = []
            }
        }
        throw StoreError(
            .network,
            "\(copy.key) in \(log.storage.place) could not be written: others write it, or no answer came"
        )
    }

    /// Writes a file where nothing stands, or what has that tag; if the tag cannot be told, whatever stands there.
    private func replace(
        _ key: String, _ tag: EntityTag?, _ spelling: TagSpelling?, by bytes: [UInt8]
    ) throws(StoreError) -> WriteOutcome {
        let body = try StorageBody(bytes)
        guard let tag else { return try log.storage.putIfAbsent(key, body, .pointer) }
        guard let spelling else { return try log.storage.put(key, body, .pointer) }
        return try log.storage.putIf(key, body, .pointer, matching: tag, spelling)
    }

    /// How the store may take a tag: as it did when the origin was made, and otherwise, if it has become another since.
    private func spellings() throws(StoreError) -> [TagSpelling] {
        // A withdrawal must not need what the first entry says.
        if let known = log.storage.knownTags { return [known] }
        guard let first = try log.pastEntry(1).pointerCondition?.spelling else { return [] }
        return [first] + TagSpelling.allCases.filter { $0 != first }
    }
}
