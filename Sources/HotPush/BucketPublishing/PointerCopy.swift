import Buckets
import CASStore
import VersionTree

/// A channel's pointer as devices see it: a copy of what the log says.
struct PointerCopy {
    private let channel: ChannelName
    private let bucket: any Bucket

    init(_ channel: ChannelName, in bucket: any Bucket) {
        self.channel = channel
        self.bucket = bucket
    }

    var key: String { OriginLayout.pointer(channel) }

    /// The pointer, and the tag of the file; both `nil` if there is none.
    ///
    /// A file that is no pointer has a tag alone.
    func read() throws(StoreError) -> Seen {
        let request = ReadRequest(byteCountMax: Int64(ChannelPointer.byteCountMax))
        let outcome: ReadOutcome
        let bytes: [UInt8]
        do throws(StoreError) {
            (outcome, bytes) = try bucket.bytes(key, request)
        } catch {
            guard error.code == .tooLarge else { throw error }
            return Seen(tag: try bucket.head(key)?.tag)
        }
        guard case .found(let file) = outcome else { return Seen() }
        // Whatever stands there is replaced by what the log says.
        let pointer = try? ChannelPointer(parsing: bytes, of: channel)
        return Seen(pointer: pointer, tag: file.tag)
    }

    /// What stands there.
    struct Seen {
        var pointer: ChannelPointer?
        var tag: EntityTag?
    }
}

/// Writes the pointers' copies, so that devices see what the log says.
struct PointerCopies {
    private let log: OriginLog
    private let pause: (Int) -> Void

    /// So often somebody else may be faster before the next command is left to do it.
    private static let tryCountMax = 16

    init(_ log: OriginLog, _ pause: @escaping (Int) -> Void) {
        self.log = log
        self.pause = pause
    }

    /// Writes the copies of all channels that lag behind.
    func writeAll(of state: OriginState) throws(StoreError) {
        for channel in state.pointers.keys.sorted() { try write(channel, of: state) }
    }

    /// Writes a channel's copy, unless it is as new as the log, or newer.
    ///
    /// - Parameters:
    ///   - seen: what stood there when the command began.
    ///   - isForced: whether it is written even if what stands there says that it is newer: no entry has it.
    func write(
        _ channel: ChannelName, of state: OriginState, seen: PointerCopy.Seen? = nil,
        isForced: Bool = false
    ) throws(StoreError) {
        var state = state
        var seen = seen
        var isForced = isForced
        let copy = PointerCopy(channel, in: log.bucket)
        // Entry 1 has them: nobody asks for it who writes nothing.
        var known: ArraySlice<TagSpelling>?
        var refusedTag: EntityTag?
        for tryNumber in 1...Self.tryCountMax {
            guard let pointer = state.pointers[channel] else { return }
            let there = if let seen { seen } else { try copy.read() }
            let tag = there.tag
            if let refusedTag, refusedTag == tag {
                // Nobody has written it since, and still the store says so: it takes tags otherwise.
                _ = known?.popFirst()
            } else if refusedTag != nil {
                // Somebody else may have written what an entry has.
                isForced = false
            }
            refusedTag = nil
            if !isForced, let old = there.pointer, try isAsNew(old, as: pointer, channel) { return }
            let spellings = if let known { known } else { try self.spellings()[...] }
            known = spellings
            let isPlain = spellings.isEmpty
            if seen.take() != nil, isPlain { continue }
            let outcome = try replace(copy.key, tag, spellings.first, by: pointer)
            switch outcome {
            case .stored:
                try list(channel, state, isNew: tag == nil)
                guard isPlain, let newer = try log.state(from: state.number),
                    newer.number > state.number
                else { return }
                // Without a condition it may have replaced a newer one.
                state = newer
            case .conditionFailed, .conflict, .unknown:
                if case .conditionFailed = outcome { refusedTag = tag } else { isForced = false }
                pause(Backoff.log.milliseconds(failureCount: tryNumber))
            case .unsupported:
                if tag == nil { throw LogCommit.unsuitable(log.bucket) }
                known = []
            }
        }
        throw StoreError(
            .network,
            "\(copy.key) in \(log.bucket.place) could not be written: others write it, or no answer came"
        )
    }

    /// Writes a pointer where nothing stands, or what has that tag; if the tag cannot be told, whatever stands there.
    private func replace(
        _ key: String, _ tag: EntityTag?, _ spelling: TagSpelling?, by pointer: ChannelPointer
    ) throws(StoreError) -> WriteOutcome {
        let body = try BucketBody(pointer.serialized())
        guard let tag else { return try log.bucket.putIfAbsent(key, body, .pointer) }
        guard let spelling else { return try log.bucket.put(key, body, .pointer) }
        return try log.bucket.putIf(key, body, .pointer, matching: tag, spelling)
    }

    /// How the store may take a tag: as it did when the origin was made, and otherwise, if it has become another since.
    private func spellings() throws(StoreError) -> [TagSpelling] {
        guard let first = try log.pastEntry(1).pointerCondition?.spelling else { return [] }
        return [first] + TagSpelling.allCases.filter { $0 != first }
    }

    /// Whether what stands there is a later entry's.
    /// - Throws: `.damagedOrigin` if it names an entry that the log does not show: somebody else has written it.
    private func isAsNew(
        _ there: ChannelPointer, as pointer: ChannelPointer, _ channel: ChannelName
    ) throws(StoreError) -> Bool {
        if there == pointer { return true }
        // Entry 1 has pointers that do not name it.
        let (mine, theirs) = (pointer.log ?? 1, there.log ?? 1)
        guard theirs > mine, there.sequence >= pointer.sequence else { return false }
        guard theirs <= LogEntry.numberMax, let entry = try log.entry(theirs) else {
            throw StoreError(
                .damagedOrigin,
                "\(OriginLayout.pointer(channel)) in \(log.bucket.place) names entry \(theirs), which the log does not "
                    + "have: castree did not write it; castree fsck --repair writes the log's")
        }
        return entry.pointers[channel] == there
    }

    /// Adds a new channel to the list of names.
    private func list(
        _ channel: ChannelName, _ state: OriginState, isNew: Bool
    ) throws(StoreError) {
        guard isNew else { return }
        // For people and pages alone: the next prune brings it in order.
        _ = try ChannelListCopy(of: state, in: log.bucket).write()
    }
}

/// The names of the channels, as people and pages see them.
struct ChannelListCopy {
    private let body: BucketBody
    private let bucket: any Bucket
    private let isEmpty: Bool

    init(of state: OriginState, in bucket: any Bucket) throws(StoreError) {
        body = try BucketBody(ChannelList.serialized(Array(state.pointers.keys)))
        isEmpty = state.pointers.isEmpty
        self.bucket = bucket
    }

    /// Whether it lists what the log has.
    func isRight() throws(StoreError) -> Bool {
        let request = ReadRequest(byteCountMax: ChannelList.byteCountMax)
        do throws(StoreError) {
            let (outcome, bytes) = try bucket.bytes(OriginLayout.channelList, request)
            guard case .found = outcome else { return isEmpty }
            return try ObjectID(of: bytes) == body.address
        } catch {
            guard error.code == .tooLarge else { throw error }
            return false
        }
    }

    /// Writes it, whatever stands there; a list that was not written lags behind.
    func write() throws(StoreError) -> WriteOutcome {
        try bucket.put(OriginLayout.channelList, body, .pointer)
    }
}
