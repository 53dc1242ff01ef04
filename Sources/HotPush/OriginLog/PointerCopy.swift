import CASStore
import Storage
import VersionTree

/// A channel's pointer as devices see it: a copy of what the log says.
struct PointerCopy: LogCopy {
    private let channel: ChannelName
    private let storage: any ObjectStorage

    init(_ channel: ChannelName, in storage: any ObjectStorage) {
        self.channel = channel
        self.storage = storage
    }

    var key: String { OriginLayout.pointer(channel) }

    /// The pointer, and the tag of the file; both `nil` if there is none.
    ///
    /// A file that is no pointer has a tag alone.
    func read() throws(StoreError) -> Seen {
        let (bytes, tag) = try contents(in: storage, limit: ChannelPointer.byteCountMax)
        // Whatever stands there is replaced by what the log says.
        return Seen(pointer: try? ChannelPointer(parsing: bytes, of: channel), tag: tag)
    }

    /// What stands there.
    struct Seen: SeenCopy {
        var pointer: ChannelPointer?
        var tag: EntityTag?
    }
}

extension PointerCopy {
    func read(_ log: OriginLog) throws(StoreError) -> Seen { try read() }

    func isAsNew(
        _ seen: Seen, as state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> Bool {
        guard let there = seen.pointer, let pointer = state.pointers[channel] else { return false }
        if there == pointer { return true }
        // Entry 1 has pointers that do not name it.
        let (mine, theirs) = (pointer.log ?? 1, there.log ?? 1)
        guard theirs > mine, there.sequence >= pointer.sequence else { return false }
        let entry = try newer(theirs, in: log)
        return entry.pointers[channel] == there
    }

    func bytes(
        in state: OriginState, _ log: OriginLog, near seen: Seen
    ) throws(StoreError) -> [UInt8]? {
        state.pointers[channel]?.serialized()
    }

    /// Adds a new channel to the list of names.
    func wasWritten(
        of state: OriginState, isNew: Bool, _ log: OriginLog
    ) throws(StoreError) {
        // For people and pages alone: the next prune brings it in order.
        guard isNew, !log.storage.looksAreFree else { return }
        _ = try ChannelListCopy(of: state, in: log.storage).write()
    }
}

/// Writes the pointers' copies, so that devices see what the log says.
struct PointerCopies {
    private let writing: CopyWriting

    init(_ log: OriginLog, _ pause: @escaping (Int) -> Void) {
        writing = CopyWriting(log, pause)
    }

    /// Writes a channel's copy, unless it is as new as the log, or newer; before it what the clients of other systems are
    /// told of the channel.
    ///
    /// - Parameters:
    ///   - seen: what stood there when the command began.
    ///   - isForced: whether it is written even if what stands there says that it is newer: no entry has it.
    func write(
        _ channel: ChannelName, of state: OriginState, seen: PointerCopy.Seen? = nil,
        isForced: Bool = false
    ) throws(StoreError) {
        // Who has written the entry may have died before it was durable: no pointer may outlive it.
        try writing.log.storage.barrier()
        do throws(StoreError) {
            try ClientCopies(writing).write(of: channel, state)
        } catch {
            guard OriginLog.saysEntryIsBad(error) || error.isOfPlace || error.code == .permission
            else { throw error }
            // What is wrong for other systems keeps no release, and no withdrawal, from devices.
            writing.log.notice(error.message)
        }
        guard state.pointers[channel] != nil else { return }
        try writing.write(
            PointerCopy(channel, in: writing.log.storage), of: state, seen: seen,
            isForced: isForced)
    }
}

/// The names of the channels, as people and pages see them.
struct ChannelListCopy {
    private let body: StorageBody
    private let storage: any ObjectStorage
    private let isEmpty: Bool

    init(of state: OriginState, in storage: any ObjectStorage) throws(StoreError) {
        body = try StorageBody(ChannelList.serialized(Array(state.pointers.keys)))
        isEmpty = state.pointers.isEmpty
        self.storage = storage
    }

    /// Whether it lists what the log has.
    func isRight() throws(StoreError) -> Bool {
        do throws(StoreError) {
            let bytes = try storage.contents(
                OriginLayout.channelList, limit: ChannelList.byteCountMax)
            return try bytes.map { (bytes) throws(StoreError) in
                try ObjectID(of: bytes) == body.address
            } ?? isEmpty
        } catch {
            guard error.code == .tooLarge else { throw error }
            return false
        }
    }

    /// Writes it if it is not right; for people and pages alone: what is not known to be written is left to the next command.
    func bringUp() throws(StoreError) {
        if try !isRight() { _ = try write() }
    }

    /// Writes it, whatever stands there; a list that was not written lags behind.
    func write() throws(StoreError) -> WriteOutcome {
        try storage.put(OriginLayout.channelList, body, .pointer)
    }
}
