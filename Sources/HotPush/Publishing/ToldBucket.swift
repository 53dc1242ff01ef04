import CASStore
import Storage
import StrictJSON
import VersionTree

/// An origin in an origin as it is after an entry of its log, for whoever tells the clients of other systems what the next
/// entry offers.
///
/// What is set and offered is gathered for that entry; documents are sent at once. After a lost race all is made anew, upon
/// the newest state. Belongs to one thread.
final class ToldBucket: ToldOrigin {
    private let state: OriginState
    private let log: OriginLog
    private let seen: SeenFiles
    private let source: ToldSource
    private let options: PublisherOptions
    /// Histories as they are after the state; `nil` for none.
    private var standing: [HistoryName: HistoryFile?] = [:]
    /// What is to be set, and offered.
    private var configurations: [ToldSystem: JSONValue] = [:]
    private var histories: [HistoryName: HistoryFile] = [:]
    /// The histories that the newest rows do not make again.
    private var mended: Set<HistoryName> = []

    let path: String
    var notice: @Sendable (String) -> Void { options.notice }

    /// - Parameters:
    ///   - seen: the documents that this command has sent.
    ///   - source: what has the files of releases.
    init(
        _ state: OriginState, _ log: OriginLog, _ seen: SeenFiles, _ source: ToldSource,
        _ options: PublisherOptions
    ) {
        self.state = state
        self.log = log
        self.seen = seen
        self.source = source
        self.options = options
        path = String(log.storage.place.prefix { $0 != " " })
    }

    /// Whether the next entry has anything to say.
    var isChanged: Bool { !configurations.isEmpty || !histories.isEmpty }

    /// Adds what is to be said to the entry that follows the state.
    func write(to entry: inout LogEntry) throws(StoreError) {
        let number = state.number + 1
        for (system, configuration) in configurations {
            entry.configurations[system] = configuration
            entry.clients[system, default: ClientPlaces()].configuration = number
        }
        for (name, history) in histories {
            let before = state.entry.clients[name.system]?.histories[name.channel]
            var old = try self.history(name) ?? HistoryFile(name)
            // Nobody can make again what a stranger's rows say: whole, it needs none before.
            if mended.contains(name) { old = HistoryFile(name) }
            entry.rows[name] = try HistoryRows(from: old, to: history, before: before ?? 0)
            entry.clients[name.system, default: ClientPlaces()].histories[name.channel] = number
        }
    }

    // MARK: Configurations and histories

    func hasClients() throws(StoreError) -> Bool { !state.entry.clients.isEmpty }

    func contents(_ path: String, limit: Int) throws(StoreError) -> [UInt8]? {
        let bytes: [UInt8]?
        switch ClientCopy(path: path)?.subject {
        case .configuration(let system):
            let configuration =
                if let pending = configurations[system] { pending } else {
                    try log.configuration(of: system, in: state.entry)
                }
            bytes = configuration.map { JSONWriter.serialize($0, sortedKeys: true) + [10] }
        case .history(let name):
            let history = if let pending = histories[name] { pending } else { try history(name) }
            bytes = history?.serialized()
        case nil where path.contains("/\(OriginLayout.clientDocuments)/"):
            let (outcome, found) = try seen.storage.bytes(
                path, ReadRequest(byteCountMax: Int64(limit)))
            if case .found = outcome { bytes = found } else { bytes = nil }
        // What else a directory remembers for the day that a history is lost, the log knows.
        case nil: bytes = nil
        }
        if let bytes, bytes.count > limit {
            throw StoreError(
                .tooLarge,
                "\(path) of \(self.path) has \(bytes.count) bytes; at most \(limit) are read")
        }
        return bytes
    }

    func replace(_ path: String, with bytes: [UInt8]) throws(StoreError) {
        switch ClientCopy(path: path)?.subject {
        case .configuration(let system):
            configurations[system] = try Self.document(bytes, path)
        case .history(let name):
            guard let (file, _) = HistoryFile.read(bytes, of: name) else {
                throw Self.unreadable(path)
            }
            histories[name] = file
        case nil: break
        }
    }

    /// Says of a system that it is not enabled any more: nobody needs the right to delete.
    func remove(_ path: String) throws(StoreError) {
        guard case .configuration(let system) = ClientCopy(path: path)?.subject,
            let members = try log.configuration(of: system, in: state.entry)?.asObject
        else { return }
        let rest = members.filter { $0.key != "enabled" }
        let document = JSONValue.object(rest + [.init(key: "enabled", value: .bool(false))])
        try replace(path, with: JSONWriter.serialize(document, sortedKeys: true))
    }

    private func history(_ name: HistoryName) throws(StoreError) -> HistoryFile? {
        guard state.entry.clients[name.system]?.histories[name.channel] != nil else { return nil }
        if let known = standing[name] { return known }
        let copy = try ClientCopy(.history(name)).read(from: log.storage)
        let near = HistoryFile.read(copy.bytes, of: name)
        let history: HistoryFile?
        do throws(StoreError) {
            history = try log.history(name, in: state.entry, near: near)
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            history = try log.soundHistory(name, before: state.entry, near: near)
            mended.insert(name)
            notice("\(error.message); the next release goes on from what was offered before")
        }
        standing[name] = .some(history)
        return history
    }

    func goBack(
        from path: String, where isRead: ([UInt8]) -> Bool
    ) throws(StoreError) -> Bool {
        guard case .history(let name) = ClientCopy(path: path)?.subject, histories[name] == nil,
            mended.insert(name).inserted
        else { return false }
        let sound = try log.soundHistory(name, before: state.entry, near: nil) {
            isRead($0.serialized())
        }
        // Whatever the next entry offers: readers have nothing else.
        histories[name] = sound ?? HistoryFile(name)
        return true
    }

    private static func document(
        _ bytes: [UInt8], _ path: String
    ) throws(StoreError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue.parse(bytes, limits: JSONLimits(depth: 8))
        } catch {
            throw unreadable(path)
        }
    }

    private static func unreadable(_ path: String) -> StoreError {
        StoreError(.damagedOrigin, "what is to be written to \(path) is not what stands there")
    }

    // MARK: Documents

    func write(
        document bytes: [UInt8], _ address: ObjectID, of system: String, in epoch: Int64?
    ) throws(StoreError) -> Int64 {
        guard let system = ToldSystem(system) else { return 0 }
        let newest = state.entry.epoch
        let kind = OriginKey.Kind.document(of: system)
        // What a history names is live: it is written again where it was (docs/buckets.md, rule G).
        let place = epoch ?? seen.epoch(of: kind, address, upon: newest) ?? newest
        try seen.send(
            StorageBody(bytes, address: address), OriginKey(kind, address, in: place))
        return place
    }

    func has(
        document address: ObjectID, _ byteCount: Int64, in epoch: Int64, of system: String
    ) throws(StoreError) -> Bool {
        // No prune takes what a history names.
        guard options.verifiesObjects || seen.storage.readsFreely, let system = ToldSystem(system)
        else { return true }
        let key = OriginKey(.document(of: system), address, in: epoch)
        guard try seen.storage.head(key.path)?.byteCount == byteCount else { return false }
        guard seen.storage.readsFreely else { return true }
        let request = ReadRequest(byteCountMax: byteCount)
        return try ObjectID(of: seen.storage.bytes(key.path, request).bytes) == address
    }

    func content(
        of release: OfferedRelease
    ) throws(StoreError) -> (any ToldRelease)? {
        try source.content(of: release)
    }
}
