import CASStore
import HotPush
import Storage
import StrictJSON

/// What an origin without a log announces to other systems' clients, to be added to a log.
struct CopiedClients {
    private var histories: [HistoryFile] = []
    private var configurations: [(system: AnnouncedSystem, value: JSONValue)] = []

    /// An entry with this many bytes of offers leaves the others to the next one.
    private static let rowsByteCountMax = 512 << 10

    /// Reads `for/`.
    /// - Parameter passOver: told of a file that castree has not written, which is left out; `nil` to throw.
    /// - Throws: `.damagedOrigin` for such a file.
    init(
        in storage: any ObjectStorage, passingOver passOver: ((String) -> Void)? = nil
    ) throws(StoreError) {
        var keys: [String] = []
        try storage.forEachFile(below: OriginLayout.clients + "/") { keys.append($0.key) }
        for key in keys {
            guard let copy = LogCopy(path: key),
                let bytes = try storage.contents(key, limit: HistoryFile.byteCountMax)
            else { continue }
            guard try add(bytes, copy) else {
                if let passOver {
                    passOver(
                        "\(key) in \(storage.place) is not as castree writes it, and is left out of the log: what is "
                            + "offered is told anew; castree origin enable tells clients whose config.json it was"
                    )
                    continue
                }
                let entry = copy.seen(bytes).document?["log"]?.asInt64
                throw .damagedOrigin(
                    entry.map {
                        "\(key) in \(storage.place) names entry \($0) of the log, which is gone: put \(OriginLayout.log)/ back "
                            + "from a copy of the origin, or delete \(OriginLayout.clients)/ to begin anew"
                    }
                        ?? "\(key) in \(storage.place) is not as castree writes it; put back what stood there, or delete it"
                )
            }
        }
        if let work = storage.work { try addLabels(notedIn: work) }
    }

    /// Continues from the labels that a publisher without a log has noted, as a history may be lost or outdated.
    private mutating func addLabels(notedIn work: WorkDirectory) throws(StoreError) {
        let path = "\(work.name)/\(OriginLayout.clientLabels)"
        let bytes = try work.fileSystem.derived(work.root, path, limit: 1 << 20)
        // A file that is not JSON says nothing.
        let document = bytes.flatMap { try? JSONValue.parse($0) }
        for member in document?.asObject ?? [] {
            let words = member.key.split(separator: " ").map(String.init)
            guard words.count == 2, let count = member.value.asInt64, 1..<1 << 40 ~= count,
                let system = AnnouncedSystem(words[0]), let channel = try? ChannelName(words[1])
            else { continue }
            let name = HistoryName(system: system, channel: channel)
            if let known = histories.firstIndex(where: { $0.name == name }) {
                histories[known].labelCount = max(histories[known].labelCount, count)
            } else {
                histories.append(HistoryFile(name, labelCount: count))
            }
        }
    }

    private mutating func add(_ bytes: [UInt8], _ copy: LogCopy) throws(StoreError) -> Bool {
        let document = copy.seen(bytes).document
        switch copy {
        case .pointer: break
        case .history(let name):
            // As it was without a log.
            guard let history = HistoryFile(document, of: name), history.log == nil,
                history.serialized() == bytes
            else { return false }
            histories.append(history)
        case .configuration(let system):
            // People may write it in any spelling, and its content is the system's own affair.
            guard let document, document.asObject != nil else { return false }
            configurations.append((system, document))
        }
        return true
    }

    /// Adds to an entry what the log does not have yet, as far as it fits; configurations only after all histories.
    /// - Parameters:
    ///   - number: the entry's.
    ///   - before: the entry before it; `nil` for none.
    /// - Returns: whether anything was added; `nil` if the log contradicts.
    func add(
        to entry: inout LogEntry, _ number: Int64, upon before: LogEntry?, _ log: OriginLog
    ) throws(StoreError) -> Bool? {
        var byteCount = 0
        for history in histories {
            let name = history.name
            let known = try before.flatMap { (before) throws(StoreError) in
                try log.history(name, in: before)
            }
            var next = known ?? HistoryFile(name)
            guard history.offers.starts(with: next.offers) else { return nil }
            if known != nil, next.offers.count == history.offers.count { continue }
            next.labelCount = history.labelCount
            for offer in history.offers[next.offers.count...] {
                guard byteCount < Self.rowsByteCountMax else { break }
                next.offers.append(offer)
                byteCount += JSONWriter.serialize(offer, sortedKeys: true).count
            }
            if byteCount >= Self.rowsByteCountMax, next.offers.count == known?.offers.count ?? 0 {
                return true
            }
            let place = before?.clients[name.system]?.histories[name.channel]
            entry.rows[name] = try HistoryRows(
                from: known ?? HistoryFile(name), to: next, before: place ?? 0)
            entry.clients[name.system, default: ClientPlaces()].histories[name.channel] = number
            if next.offers.count < history.offers.count { return true }
        }
        for (system, value) in configurations {
            if let before, let known = try log.configuration(of: system, in: before) {
                guard known == value else { return nil }
                continue
            }
            entry.configurations[system] = value
            entry.clients[system, default: ClientPlaces()].configuration = number
        }
        return !entry.rows.isEmpty || !entry.configurations.isEmpty
    }
}
