import CASStore
import StrictJSON

/// What an origin in a directory tells the clients of other systems, on its way into the log of a bucket.
struct CopiedClients {
    private var histories: [HistoryFile] = []
    private var configurations: [(system: ToldSystem, value: JSONValue)] = []

    /// An entry takes no more offers when it has so many bytes of them; the next one takes the others.
    private static let rowsByteCountMax = 512 << 10

    /// Reads `for/`.
    /// - Throws: `.damagedOrigin` for a file that castree has not written.
    init(
        _ root: Int32, _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        guard let place = try fileSystem.openIfPresent(root, OriginLayout.clients, .directory)
        else { return }
        for name in try fileSystem.names(in: place.raw).sorted() {
            guard let system = ToldSystem(name),
                let directory = try fileSystem.openIfPresent(place.raw, name, .directory)
            else { continue }
            for file in try fileSystem.names(in: directory.raw).sorted() {
                let key = "\(OriginLayout.clients)/\(name)/\(file)"
                guard let copy = ClientCopy(path: key) else { continue }
                let bytes = try fileSystem.contents(
                    directory.raw, file, limit: HistoryFile.byteCountMax)
                guard try add(bytes, copy, system) else {
                    throw OriginFileList.damaged(path, "\(key) is not as castree writes it")
                }
            }
        }
    }

    private mutating func add(
        _ bytes: [UInt8], _ copy: ClientCopy, _ system: ToldSystem
    ) throws(StoreError) -> Bool {
        switch copy.subject {
        case .history(let name):
            guard let (history, _) = HistoryFile.read(bytes, of: name),
                history.serialized() == bytes
            else { return false }
            histories.append(history)
        case .configuration:
            // People may have written it in any spelling; what it says is the system's own affair.
            guard let value = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 8)),
                value.asObject != nil
            else { return false }
            configurations.append((system, value))
        }
        return true
    }

    /// Adds to an entry what the log does not have yet, as much as goes into it; configurations when it has all histories.
    ///
    /// - Parameters:
    ///   - number: the entry's.
    ///   - before: the entry before it; `nil` for none.
    /// - Returns: whether anything was added; `nil` if the log tells something else.
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
