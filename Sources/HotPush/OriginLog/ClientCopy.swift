import CASStore
import Storage
import StrictJSON

/// What the clients of a system are told, as a file below `for/`: a copy of what the log says.
struct ClientCopy: LogCopy {
    enum Subject: Hashable {
        case configuration(ToldSystem)
        case history(HistoryName)
    }

    /// What stands there.
    struct Seen {
        var bytes: [UInt8] = []
        /// The entry that it names.
        var log: Int64?
        var tag: EntityTag?
    }

    let subject: Subject

    init(_ subject: Subject) { self.subject = subject }

    /// What a path means; `nil` if it is none of these.
    init?(path: String) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == OriginLayout.clients,
            let system = ToldSystem(parts[1])
        else { return nil }
        if path == OriginLayout.clientConfiguration(of: system.description) {
            self.init(.configuration(system))
        } else {
            guard let channel = OriginLayout.channel(ofHistoryFile: parts[2]) else { return nil }
            self.init(.history(HistoryName(system: system, channel: channel)))
        }
    }

    var key: String {
        switch subject {
        case .configuration(let system):
            OriginLayout.clientConfiguration(of: system.description)
        case .history(let name):
            OriginLayout.clientHistory(of: name.channel, name.system.description)
        }
    }

    var system: ToldSystem {
        switch subject {
        case .configuration(let system): system
        case .history(let name): name.system
        }
    }

    /// The entry that it should name; `nil` if the log knows nothing of it.
    func place(in entry: LogEntry) -> Int64? {
        switch subject {
        case .configuration(let system): entry.clients[system]?.configuration
        case .history(let name): entry.clients[name.system]?.histories[name.channel]
        }
    }

    func read(from storage: any ObjectStorage) throws(StoreError) -> Seen {
        let outcome: ReadOutcome
        let bytes: [UInt8]
        do throws(StoreError) {
            (outcome, bytes) = try storage.bytes(
                key, ReadRequest(byteCountMax: Int64(HistoryFile.byteCountMax)))
        } catch {
            guard error.code == .tooLarge else { throw error }
            return Seen(tag: try storage.head(key)?.tag)
        }
        guard case .found(let file) = outcome else { return Seen() }
        // Whatever stands there is replaced by what the log says.
        let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 8))
        return Seen(bytes: bytes, log: document?["log"]?.asInt64, tag: file.tag)
    }

    func read(_ log: OriginLog) throws(StoreError) -> Seen { try read(from: log.storage) }

    func tag(of seen: Seen) -> EntityTag? { seen.tag }

    func isAsNew(
        _ seen: Seen, as state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> Bool {
        guard let mine = place(in: state.entry) else { return true }
        guard let theirs = seen.log, theirs >= mine else { return false }
        if theirs == mine { return try bytes(in: state, log, near: seen) == seen.bytes }
        guard theirs <= LogEntry.numberMax, let entry = try log.countedEntry(theirs) else {
            throw log.lacks(theirs, namedBy: key)
        }
        guard place(in: entry) == theirs else { return false }
        return try bytes(in: entry, log, near: seen) == seen.bytes
    }

    func bytes(
        in state: OriginState, _ log: OriginLog, near seen: Seen
    ) throws(StoreError) -> [UInt8]? {
        try bytes(in: state.entry, log, near: seen)
    }

    /// What it is after an entry; `nil` if the log knows nothing of it.
    func bytes(
        in entry: LogEntry, _ log: OriginLog, near seen: Seen
    ) throws(StoreError) -> [UInt8]? {
        guard let place = place(in: entry) else { return nil }
        switch subject {
        case .configuration(let system):
            guard let members = try log.configuration(of: system, in: entry)?.asObject else {
                return nil
            }
            let document = JSONValue.object(
                members.filter { $0.key != "log" } + [.init(key: "log", value: .integer(place))])
            return JSONWriter.serialize(document, sortedKeys: true) + [10]
        case .history(let name):
            let copy = HistoryFile.read(seen.bytes, of: name)
            return try log.history(name, in: entry, near: copy)?.serialized(log: place)
        }
    }

    func wasWritten(of state: OriginState, isNew: Bool, _ log: OriginLog) throws(StoreError) {}
}

/// Writes what the clients of other systems are told of an origin: copies of what the log says.
struct ClientCopies {
    private let writing: CopyWriting

    init(_ writing: CopyWriting) { self.writing = writing }

    /// Writes the configurations, and the histories of a channel, that lag behind.
    func write(of channel: ChannelName, _ state: OriginState) throws(StoreError) {
        for system in state.entry.clients.keys.sorted() {
            let places = state.entry.clients[system]
            if places?.histories[channel] != nil {
                let name = HistoryName(system: system, channel: channel)
                try writing.write(ClientCopy(.history(name)), of: state)
            }
            if places?.configuration != nil {
                try writing.write(ClientCopy(.configuration(system)), of: state)
            }
        }
    }

    /// All copies that the log knows of, in the order in which they are written.
    static func all(in entry: LogEntry) -> [ClientCopy] {
        entry.clients.sorted { $0.key < $1.key }.flatMap { (system, places) in
            places.histories.keys.sorted().map {
                ClientCopy(.history(HistoryName(system: system, channel: $0)))
            } + (places.configuration == nil ? [] : [ClientCopy(.configuration(system))])
        }
    }
}
