package import CASStore
import HotPush
package import Storage
import StrictJSON
import VersionTree

/// A file that repeats what the log says, for readers that do not read the log.
enum LogCopy: Hashable {
    case pointer(ChannelName)
    /// The operator's configuration for a system's clients, below `for/`, like histories.
    case configuration(AnnouncedSystem)
    case history(HistoryName)

    /// Returns `nil` for other paths.
    init?(path: String) {
        if let channel = OriginLayout.channel(ofPointer: path) {
            self = .pointer(channel)
            return
        }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == OriginLayout.clients,
            let system = AnnouncedSystem(parts[1])
        else { return nil }
        if path == OriginLayout.clientConfiguration(of: system.description) {
            self = .configuration(system)
        } else {
            guard let channel = OriginLayout.channel(ofHistoryFile: parts[2]) else { return nil }
            self = .history(HistoryName(system: system, channel: channel))
        }
    }

    var key: String {
        switch self {
        case .pointer(let channel): OriginLayout.pointer(channel)
        case .configuration(let system):
            OriginLayout.clientConfiguration(of: system.description)
        case .history(let name):
            OriginLayout.clientHistory(of: name.channel, name.system.description)
        }
    }

    /// The entry that it should name; `nil` if the log does not know the copy.
    func place(in entry: LogEntry) -> Int64? {
        switch self {
        case .pointer(let channel): entry.channels[channel]
        case .configuration(let system): entry.clients[system]?.configuration
        case .history(let name): entry.clients[name.system]?.histories[name.channel]
        }
    }

    var system: AnnouncedSystem? {
        switch self {
        case .pointer: nil
        case .configuration(let system): system
        case .history(let name): name.system
        }
    }

    /// An entry's files for other systems' clients, in the order in which they are written.
    /// - Parameter channel: only files written with this channel; `nil` for all.
    static func announced(in entry: LogEntry, with channel: ChannelName? = nil) -> [LogCopy] {
        entry.clients.sorted { $0.key < $1.key }.flatMap { (system, places) in
            places.histories.keys.filter { $0 == channel ?? $0 }.sorted().map {
                .history(HistoryName(system: system, channel: $0))
            } + (places.configuration == nil ? [] : [.configuration(system)])
        }
    }

    struct Seen {
        var bytes: [UInt8] = []
        /// `nil` if there is no file.
        var tag: EntityTag?
        /// The parsed bytes; `nil` for anything else, which the log's version replaces.
        fileprivate(set) var pointer: ChannelPointer?
        fileprivate(set) var document: JSONValue?
        /// The entry that it names; a pointer that names none belongs to the first.
        var log: Int64? { pointer.map { $0.log ?? 1 } ?? document?["log"]?.asInt64 }
    }

    func seen(_ bytes: [UInt8], tag: EntityTag? = nil) -> Seen {
        var seen = Seen(bytes: bytes, tag: tag)
        // Bytes that do not parse say nothing.
        if case .pointer(let channel) = self {
            seen.pointer = try? ChannelPointer(parsing: bytes, of: channel)
        } else {
            seen.document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 8))
        }
        return seen
    }

    private var byteCountMax: Int64 {
        if case .pointer = self { return Int64(ChannelPointer.byteCountMax) }
        return Int64(HistoryFile.byteCountMax)
    }

    /// Reads what is there, but no bytes of a file that is too large.
    func read(from storage: any ObjectStorage) throws(StoreError) -> Seen {
        do throws(StoreError) {
            let (outcome, bytes) = try storage.bytes(key, ReadRequest(byteCountMax: byteCountMax))
            if case .found(let file) = outcome { return seen(bytes, tag: file.tag) }
            return Seen()
        } catch {
            guard error.code == .tooLarge else { throw error }
            return Seen(tag: try storage.head(key)?.tag)
        }
    }

    /// Whether the copy found is as new as a state, or newer.
    /// - Throws: `.damagedOrigin` if it names an entry that the log does not show, so that a stranger has written it;
    ///   or if it must not be replaced (``checkSigned(_:_:by:_:)``).
    func isAsNew(_ seen: Seen, as state: OriginState, _ log: OriginLog) throws(StoreError) -> Bool {
        if case .pointer(let channel) = self {
            guard let there = seen.pointer, let pointer = state.pointers[channel] else {
                return false
            }
            if there == pointer { return true }
            // The pointers of entry 1 do not name it.
            let (mine, theirs) = (pointer.log ?? 1, there.log ?? 1)
            guard theirs > mine, there.sequence >= pointer.sequence, !pointer.takesOver(there)
            else {
                try Self.checkSigned(seen, channel, by: state, log)
                return false
            }
            if try log.isTaken(pointer, by: there) { return false }
            return try newer(theirs, in: log).pointers[channel] == there
        }
        guard let mine = place(in: state.entry) else { return true }
        guard let theirs = seen.log, theirs >= mine else { return false }
        let entry = theirs == mine ? state.entry : try newer(theirs, in: log)
        guard place(in: entry) == theirs else { return false }
        return try announced(in: entry, log, near: seen) == seen.bytes
    }

    private func newer(_ number: Int64, in log: OriginLog) throws(StoreError) -> LogEntry {
        if number <= ChannelPointer.logMax, let entry = try log.countedEntry(number) {
            return entry
        }
        throw log.lacks(number, namedBy: key, isReplaced: try log.has(number))
    }

    /// Refuses to replace a signed pointer by a newer unsigned one of the log, which anybody may have written.
    /// - Throws: `.damagedOrigin`.
    static func checkSigned(
        _ seen: Seen, _ channel: ChannelName, by state: OriginState, _ log: OriginLog
    ) throws(StoreError) {
        guard !log.mayUnsign, let there = seen.pointer, there.isSigned,
            let pointer = state.pointers[channel],
            !pointer.isSigned, let number = pointer.log, number > there.log ?? 1,
            // A signed pointer that the log never had may be a stranger's, written over an unsigned one.
            try log.reading(there.log ?? 1)?.entry.map({ $0.pointers[channel] == there }) ?? true
        else { return }
        throw .damagedOrigin(
            "\(OriginLayout.pointer(channel)) in \(log.storage.place) is signed, and the newer pointer in entry \(number) of "
                + "the log is not: somebody without a key has written that, or a command with --unsigned was cut short; look "
                + "at what is offered, then publish with the key, or with --unsigned")
    }

    func bytes(
        in state: OriginState, _ log: OriginLog, near seen: Seen
    ) throws(StoreError) -> [UInt8]? {
        if case .pointer(let channel) = self { return state.pointers[channel]?.serialized() }
        return try announced(in: state.entry, log, near: seen)
    }

    /// The bytes for another system's clients after an entry; `nil` if the log does not know the copy.
    private func announced(
        in entry: LogEntry, _ log: OriginLog, near seen: Seen
    ) throws(StoreError) -> [UInt8]? {
        guard let place = place(in: entry) else { return nil }
        switch self {
        case .pointer: return nil
        case .configuration(let system):
            guard let members = try log.configuration(of: system, in: entry)?.asObject else {
                return nil
            }
            return JSONValue.object(
                members.filter { $0.key != "log" } + [.init(key: "log", value: .integer(place))]
            ).fileBytes
        case .history(let name):
            let copy = HistoryFile(seen.document, of: name)
            guard var history = try log.history(name, in: entry, near: copy) else { return nil }
            history.log = place
            return history.serialized()
        }
    }

    fileprivate func isProved(_ bytes: [UInt8], in storage: any ObjectStorage) throws(StoreError)
        -> Bool
    {
        let (seen, log) = (seen(bytes), OriginLog(storage))
        guard let number = seen.log, 1...ChannelPointer.logMax ~= number,
            let entry = try log.entry(number), place(in: entry) == number
        else { return false }
        switch self {
        case .pointer(let channel): return entry.pointers[channel] == seen.pointer
        case .history(let name):
            return try HistoryFile(seen.document, of: name)?.digest() == entry.rows[name]?.digest
        case .configuration: return try announced(in: entry, log, near: seen) == bytes
        }
    }
}

package enum LoggedCopies {
    /// Whether the entry that a pointer, or a file below `for/`, names agrees with the file.
    /// - Returns: `false` also if there is no such entry, or a file below `for/` names none. A pointer that names
    ///   none belongs to the first entry.
    /// - Throws: `.damagedOrigin`, `.unsupportedFormat` for an entry that cannot be understood; reading errors:
    ///   `.accessDenied` if the caller may not read the log.
    package static func prove(
        _ bytes: [UInt8], at path: String, in storage: any ObjectStorage
    ) throws(StoreError) -> Bool {
        try LogCopy(path: path)?.isProved(bytes, in: storage) ?? false
    }
}

/// Updates outdated copies of what the log says.
struct CopyWriting {
    private let log: OriginLog
    private let pause: (Int) -> Void

    /// How often others may be faster before the update is left to the next command.
    private static let tryCountMax = 16

    init(_ log: OriginLog, _ pause: @escaping (Int) -> Void) {
        self.log = log
        self.pause = pause
    }

    /// Writes a channel's pointer, after its files for other systems, unless it is as new as the log's, or newer.
    /// - Parameters:
    ///   - seen: what was there when the command began.
    ///   - isForced: whether to replace a copy that claims to be newer, because no entry has it.
    func write(
        _ channel: ChannelName, of state: OriginState, seen: LogCopy.Seen? = nil,
        isForced: Bool = false
    ) throws(StoreError) {
        // The entry's writer may have died before it was durable, and no pointer may outlive its entry.
        try log.storage.barrier()
        do throws(StoreError) {
            try writeAnnounced(of: channel, state)
        } catch {
            guard OriginLog.saysEntryIsBad(error) || error.isOfPlace || error.code == .permission
            else { throw error }
            // An error with other systems' files withholds no release and no withdrawal from devices.
            log.notice(error.message)
        }
        guard state.pointers[channel] != nil else { return }
        try write(.pointer(channel), of: state, seen: seen, isForced: isForced)
    }

    func writeAnnounced(of channel: ChannelName, _ state: OriginState) throws(StoreError) {
        for copy in LogCopy.announced(in: state.entry, with: channel) { try write(copy, of: state) }
    }

    /// Writes a copy, unless it is as new as the log, or newer.
    func write(
        _ copy: LogCopy, of state: OriginState, seen: LogCopy.Seen? = nil, isForced: Bool = false
    ) throws(StoreError) {
        var state = state
        var seen = seen
        var isForced = isForced
        // The spellings are in entry 1, which is read only before a write.
        var known: ArraySlice<TagSpelling>?
        var refusedTag: EntityTag?
        for tryNumber in 1...Self.tryCountMax {
            let there = if let seen { seen } else { try copy.read(from: log.storage) }
            let tag = there.tag
            if let refusedTag, refusedTag == tag {
                // If nobody has written since, and the store still refuses the tag, it wants another spelling.
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
                // The list serves only people and pages; the next prune corrects it.
                if case .pointer = copy, tag == nil, !log.storage.isOnDisk {
                    _ = try ChannelListCopy(of: state, in: log.storage).write()
                }
                guard isPlain, let newer = try log.state(from: state.number),
                    newer.number > state.number
                else { return }
                // An unconditional write may have replaced a newer copy.
                state = newer
            case .conditionFailed, .conflict, .unknown:
                if case .conditionFailed = outcome { refusedTag = tag } else { isForced = false }
                pause(RetryPolicy.log.milliseconds(failureCount: tryNumber))
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

    /// Writes a file if there is none, or if it has the tag; unconditionally if the tag cannot be expressed.
    private func replace(
        _ key: String, _ tag: EntityTag?, _ spelling: TagSpelling?, by bytes: [UInt8]
    ) throws(StoreError) -> WriteOutcome {
        let body = try StorageBody(bytes)
        guard let tag else { return try log.storage.putIfAbsent(key, body, .pointer) }
        guard let spelling else { return try log.storage.put(key, body, .pointer) }
        return try log.storage.putIf(key, body, .pointer, matching: tag, spelling)
    }

    /// How the store may spell a tag: first as when the origin was made, then otherwise, in case it has changed.
    private func spellings() throws(StoreError) -> [TagSpelling] {
        // A withdrawal must not depend on the first entry.
        if log.storage.isOnDisk { return [.quoted] }
        guard let first = try log.pastEntry(1).pointerCondition?.spelling else { return [] }
        return [first] + TagSpelling.allCases.filter { $0 != first }
    }
}

struct ChannelListCopy {
    private let body: StorageBody
    private let storage: any ObjectStorage
    private let isEmpty: Bool

    init(of state: OriginState, in storage: any ObjectStorage) throws(StoreError) {
        body = try StorageBody(ChannelList.serialized(Array(state.pointers.keys)))
        isEmpty = state.pointers.isEmpty
        self.storage = storage
    }

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

    /// Corrects the list; an uncertain write is left to the next command, as only people and pages read it.
    func bringUp() throws(StoreError) {
        if try !isRight() { _ = try write() }
    }

    func write() throws(StoreError) -> WriteOutcome {
        try storage.put(OriginLayout.channelList, body, .pointer)
    }
}
