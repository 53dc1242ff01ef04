import CASStore
import HotPush
import Storage

/// The attempt to write the next entry of the log before anybody else does.
struct LogCommit {
    private let number: Int64
    /// `nil` for a copy of another origin's entry.
    private let author: String?
    private let body: StorageBody
    /// Whether it announces nothing, so that a later commit may make it durable.
    private let isBare: Bool
    private let log: OriginLog
    private let pause: (Int) -> Void

    private static let tryCountMax = 8

    init(
        _ entry: LogEntry, _ number: Int64, after before: LogEntry? = nil, _ log: OriginLog,
        _ pause: @escaping (Int) -> Void
    ) throws(StoreError) {
        self.number = number
        author = entry.author
        isBare = entry.kind == .create && entry.channels.isEmpty && entry.clients.isEmpty
        body = try StorageBody(try Self.check(entry, number, after: before, of: log.storage))
        self.log = log
        self.pause = pause
    }

    /// Prepares to write another origin's entry verbatim, whatever it is.
    init(
        copying bytes: [UInt8], _ number: Int64, _ log: OriginLog,
        _ pause: @escaping (Int) -> Void
    ) throws(StoreError) {
        self.number = number
        author = nil
        isBare = false
        body = try StorageBody(bytes)
        self.log = log
        self.pause = pause
    }

    /// Checks that readers will accept an entry, since it can never be changed.
    /// - Parameter before: the entry that it follows.
    /// - Returns: its bytes.
    /// - Throws: `.tooLarge`, `.damagedOrigin` for what they would refuse.
    @discardableResult
    static func check(
        _ entry: LogEntry, _ number: Int64, after before: LogEntry? = nil,
        of storage: any ObjectStorage
    ) throws(StoreError) -> [UInt8] {
        guard number <= ChannelPointer.logMax else {
            throw .damagedOrigin("the log of \(storage.place) has no number left for an entry")
        }
        guard entry.channels.count <= LogEntry.channelCountMax else {
            throw StoreError(
                .tooLarge,
                "\(storage.place) would have \(entry.channels.count) channels, more than "
                    + "\(LogEntry.channelCountMax); offer it in a channel that is there")
        }
        for pointer in entry.pointers.values { try pointer.checkSpace() }
        let bytes = entry.serialized()
        guard bytes.count <= LogEntry.byteCountMax else {
            throw tooLarge("entry \(number) of the log", bytes.count, LogEntry.byteCountMax)
        }
        try checkIsRead(bytes, number, after: before, of: storage)
        return bytes
    }

    private static func checkIsRead(
        _ bytes: [UInt8], _ number: Int64, after before: LogEntry?, of storage: any ObjectStorage
    ) throws(StoreError) {
        var problem: String?
        do throws(StoreError) {
            let entry = try LogEntry(parsing: bytes, number: number)
            // Devices read the copies of pointers.
            for (channel, pointer) in entry.pointers {
                _ = try ChannelPointer(parsing: pointer.serialized(), of: channel)
            }
            let outline = EntryOutline(entry, number)
            let last = before.map { EntryOutline($0, number - 1) }
            problem = outline.breaches(number, after: last).first
        } catch {
            problem = error.message
        }
        guard let problem else { return }
        throw .damagedOrigin(
            "nothing is changed in \(storage.place): nobody would read the entry that follows from its log (\(problem)); "
                + "castree fsck says which entry does not belong to castree")
    }

    /// Checks that the pointers after an entry are not too large for readers (``PointerCapacity``).
    /// - Throws: `.tooLarge` for a pointer that grows although there is no space for it.
    static func checkSpace(
        for pointer: ChannelPointer, upon state: OriginState, _ log: OriginLog
    ) throws(StoreError) {
        var all = state.pointers
        let before = all.updateValue(pointer, forKey: pointer.channel)
        let limit = PointerCapacity.limit(log.pointerByteCountMax, isSigned: pointer.isSigned)
        var capacity = PointerCapacity(limit, channelCount: all.count)
        for pointer in all.values { capacity.take(pointer) }
        if capacity.isThere { return }
        if let trusts = log.trusts {
            capacity = PointerCapacity(log.pointerByteCountMax, channelCount: all.count)
            for (channel, other) in all {
                if channel != pointer.channel, try !trusts(other.signedContent) { continue }
                capacity.take(other)
            }
            if capacity.isThere { return }
        }
        // A withdrawal must be possible whatever others have written.
        if let before, before.serialized().count >= pointer.serialized().count { return }
        throw StoreError(
            .tooLarge,
            "the pointers of \(all.count) channels in \(log.storage.place) would have more than "
                + "\(limit) bytes together; withdraw releases, or prune with a smaller --keep"
        )
    }

    private static func tooLarge(_ what: String, _ byteCount: Int, _ limit: Int) -> StoreError {
        StoreError(
            .tooLarge,
            "\(what) would have \(byteCount) bytes, more than \(limit); withdraw releases, or prune with a "
                + "smaller --keep (a directory that is taken over: before it is copied)")
    }

    /// Writes the entry between two barriers.
    ///
    /// While the outcome is undecided, the same bytes go to the same number only, lest a release is offered twice.
    /// - Returns: whether this entry is there; otherwise somebody else's is.
    /// - Throws: `.outcomeUnknown` if it stays undecided; `.unsuitableStore`; what the storage refuses.
    func carryOut() throws(StoreError) -> Bool {
        // The files that the entry names become durable before it, and the entry before its copies.
        try log.storage.barrier()
        guard try write() else { return false }
        if isBare { return true }
        do throws(StoreError) {
            try log.storage.barrier()
        } catch {
            throw unknown(error.message)
        }
        return true
    }

    private func write() throws(StoreError) -> Bool {
        var undecided: UnknownWrite?
        for tryNumber in 0..<Self.tryCountMax {
            if tryNumber > 0 { pause(RetryPolicy.log.milliseconds(failureCount: tryNumber)) }
            let outcome: WriteOutcome
            do throws(StoreError) {
                outcome = try log.storage.putIfAbsent(
                    OriginLayout.logEntry(number), body, .logEntry)
            } catch {
                // A write in progress may still succeed.
                if error.code == .interrupted { throw interruption }
                guard let undecided else { throw error }
                throw unknown("\(undecided); then: \(error.message)")
            }
            switch outcome {
            case .stored: return true
            case .unsupported:
                let refusal = Self.unsuitable(log.storage)
                throw undecided.map { unknown("\($0); then: \(refusal.message)") } ?? refusal
            case .unknown(let reason): undecided = reason
            case .conditionFailed, .conflict:
                if let isMine = try isWritten(undecided) { return isMine }
            // Nothing shows yet; the write may still arrive.
            }
        }
        throw unknown(undecided?.description ?? "something stands there, and cannot be read")
    }

    /// Whether the entry there is this one; `nil` if there is none.
    private func isWritten(_ undecided: UnknownWrite?) throws(StoreError) -> Bool? {
        do throws(StoreError) {
            guard let author else {
                guard let bytes = try log.bytes(of: number) else { return nil }
                return try ObjectID(of: bytes) == body.address
            }
            switch try log.reading(number) {
            case .entry(let entry): return entry.author == author
            case .refused: return false
            case nil: return nil
            }
        } catch {
            guard let undecided else { throw error }
            throw unknown("\(undecided); then: \(error.message)")
        }
    }

    private var interruption: StoreError {
        StoreError(
            .interrupted,
            "interrupted while entry \(number) of the log in \(log.storage.place) was written: the change may be made "
                + "or not; repeat the command, it finds out")
    }

    private func unknown(_ reason: String) -> StoreError {
        StoreError(
            .outcomeUnknown,
            "no answer came to entry \(number) of the log in \(log.storage.place) (\(reason)): the change may be "
                + "made or not; repeat the command, it finds out")
    }

    static func unsuitable(_ storage: any ObjectStorage) -> StoreError {
        StoreError(
            .unsuitableStore,
            "the store of \(storage.place) does not refuse to overwrite (If-None-Match: *): several publishers "
                + "would overwrite each other's releases; publish to a directory and copy it")
    }
}

extension LogEntry {
    /// The entry that follows a state and changes nothing yet.
    init(after state: OriginState, _ kind: Kind, now: Int64) throws(StoreError) {
        self = state.entry
        self.kind = kind
        createdAt = now
        author = try Self.drawAuthor()
        pointers = [:]
        (configurations, rows) = ([:], [:])
        pointerCondition = nil
    }
}

extension RetryPolicy {
    /// For writers of one log: losing a race requires a shorter wait than a server that is down.
    static let log = RetryPolicy(firstDelay: .milliseconds(100), delayMax: .seconds(5))

    func milliseconds(failureCount: Int) -> Int {
        var generator = SystemRandomNumberGenerator()
        return Int(delay(failureCount: failureCount, using: &generator).milliseconds)
    }
}
