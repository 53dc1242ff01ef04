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
        let (outcome, bytes) = try bucket.bytes(key, request)
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
        for tryNumber in 1...Self.tryCountMax {
            guard let pointer = state.pointers[channel] else { return }
            let there = if let seen { seen } else { try copy.read() }
            if !isForced, let old = there.pointer, isAsNew(old, as: pointer) { return }
            let condition = try log.pastEntry(1).pointerCondition ?? .none
            if seen.take() != nil, condition == .none { continue }
            let tag = there.tag
            let body = try BucketBody(pointer.serialized())
            let outcome: WriteOutcome
            if tag == nil {
                outcome = try log.bucket.putIfAbsent(copy.key, body, .pointer)
            } else if let tag, let spelling = condition.spelling {
                outcome = try log.bucket.putIf(
                    copy.key, body, .pointer, matching: tag, spelling)
            } else {
                outcome = try log.bucket.put(copy.key, body, .pointer)
            }
            switch outcome {
            case .stored:
                try list(channel, state, isNew: tag == nil)
                guard condition == .none, let newer = try log.state(from: state.number),
                    newer.number > state.number
                else { return }
                // Without a condition it may have replaced a newer one.
                state = newer
            case .conditionFailed, .conflict, .unknown:
                // Somebody else may have written what an entry has.
                isForced = false
                pause(Backoff.log.milliseconds(failureCount: tryNumber))
            case .unsupported: throw LogCommit.unsuitable(log.bucket)
            }
        }
        throw StoreError(
            .network,
            "\(copy.key) in \(log.bucket.place) could not be written: others write it, or no answer came"
        )
    }

    /// Entry 1 has pointers that do not name it.
    private func isAsNew(_ there: ChannelPointer, as pointer: ChannelPointer) -> Bool {
        if there == pointer { return true }
        let (mine, theirs) = (pointer.log ?? 1, there.log ?? 1)
        return theirs > mine && there.sequence >= pointer.sequence
    }

    /// Adds a new channel to the list of names.
    private func list(
        _ channel: ChannelName, _ state: OriginState, isNew: Bool
    ) throws(StoreError) {
        guard isNew else { return }
        let body = try BucketBody(ChannelList.serialized(Array(state.pointers.keys)))
        // For people and pages alone: the next new channel brings it in order.
        _ = try log.bucket.put(OriginLayout.channelList, body, .pointer)
    }
}
