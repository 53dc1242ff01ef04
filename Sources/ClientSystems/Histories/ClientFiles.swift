package import CASStore
package import HotPush
import StrictJSON

/// The files of an origin that say what the clients of other systems are told: `for/…`.
///
/// Whoever writes has the origin's lock, or makes an entry of its log.
package struct ClientFiles {
    private let origin: any ToldOrigin

    /// Of an origin.
    package init(_ origin: any ToldOrigin) { self.origin = origin }

    /// Whether there may be anything: without it no system was ever enabled.
    package func areThere() throws(StoreError) -> Bool { try origin.hasClients() }

    /// What the operator has set for the systems that are enabled, sorted by system.
    ///
    /// - Parameters:
    ///   - systems: looks at these only; `nil` for all.
    ///   - passesOver: whether one that cannot be read is left out, and told.
    /// - Throws: `.badClients`; what reading throws.
    package func configurations(
        of systems: Set<ClientSystem>? = nil, passingOver passesOver: Bool = false,
        _ tell: (ClientSystem, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) -> [ClientConfiguration] {
        guard try areThere() else { return [] }
        var found: [ClientConfiguration] = []
        for system in ClientSystem.allCases.sorted()
        where systems.map({ $0.contains(system) }) ?? true {
            do throws(StoreError) {
                if let configuration = try configuration(of: system) {
                    found.append(configuration)
                }
            } catch {
                guard passesOver, error.isOfClients else { throw error }
                tell(system, error)
            }
        }
        return found
    }

    /// The same of one system; `nil` if it is not enabled.
    package func configuration(
        of system: ClientSystem
    ) throws(StoreError) -> ClientConfiguration? {
        let bytes = try origin.contents(
            OriginLayout.clientConfiguration(of: system.rawValue),
            limit: ClientConfiguration.byteCountMax)
        guard let bytes else { return nil }
        do throws(StoreError) {
            let configuration = try ClientConfiguration(parsing: bytes, of: system)
            return configuration.isEnabled ? configuration : nil
        } catch {
            // Whatever else it says, it has ended; one that is no JSON says nothing.
            let document = try? JSONValue.parse(bytes, limits: JSONLimits(depth: 8))
            if document?["enabled"]?.asBool == false { return nil }
            throw error
        }
    }

    /// The same where it is about to be replaced or ended: what cannot be read is told, and is as good as none.
    package func replacedConfiguration(
        of system: ClientSystem, _ tell: (StoreError) -> Void
    ) throws(StoreError) -> ClientConfiguration? {
        do throws(StoreError) {
            return try configuration(of: system)
        } catch {
            guard error.isOfClients else { throw error }
            tell(error)
            return nil
        }
    }

    /// What a channel has offered to a system's clients; `nil` if that was never written, or is lost.
    /// - Throws: `.badClients` for a damaged file, with what to do; what reading throws.
    func history(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> ClientHistory? {
        let path = OriginLayout.clientHistory(of: channel, system.rawValue)
        guard let bytes = try origin.contents(path, limit: ClientHistory.byteCountMax) else {
            return nil
        }
        do throws(StoreError) {
            return try ClientHistory(parsing: bytes, of: channel, system)
        } catch {
            let goesBack = try origin.goBack(from: path) { bytes in
                // Why another one is refused does not matter.
                (try? ClientHistory(parsing: bytes, of: channel, system)) != nil
            }
            guard goesBack else { throw error }
            origin.notice("\(error.message); the next release goes on from what was offered before")
            return try history(of: channel, system)
        }
    }

    /// Replaces what the operator has set, durably; nothing if it is that already.
    /// - Returns: whether it was another.
    @discardableResult
    package func write(_ configuration: ClientConfiguration) throws(StoreError) -> Bool {
        let before = try replacedConfiguration(of: configuration.system) { _ in }
        if before == configuration { return false }
        try origin.replace(
            OriginLayout.clientConfiguration(of: configuration.system.rawValue),
            with: configuration.serialized())
        return true
    }

    /// Ends a system: its clients are told nothing more.
    ///
    /// Its histories stay, and with them the ids that clients keep.
    package func removeConfiguration(of system: ClientSystem) throws(StoreError) {
        try origin.remove(OriginLayout.clientConfiguration(of: system.rawValue))
    }

    /// Replaces a history, durably, and drops its oldest offers if it would be too large to be read.
    ///
    /// The largest label is noted before, beside the publisher's own files: a history that is lost goes on from there.
    /// - Throws: `.tooLarge` if what the pointer lists alone is too much.
    func write(
        _ history: ClientHistory, of pointer: ChannelPointer
    ) throws(StoreError) {
        var history = history
        var bytes = history.serialized()
        while bytes.count > ClientHistory.byteCountMax {
            let count = history.offers.count
            history.drop(to: count / 2, listedIn: pointer)
            guard history.offers.count < count else {
                throw StoreError(
                    .tooLarge,
                    "what channel \(history.channel) offers to the clients of \(history.system.rawValue) takes \(bytes.count) bytes; "
                        + "at most \(ClientHistory.byteCountMax) are read: castree prune --keep lists fewer releases"
                )
            }
            bytes = history.serialized()
        }
        // Numbers of a history that castree did not write may leave none above them.
        _ = try ClientHistory(parsing: bytes, of: history.channel, history.system)
        try noteLabels(of: history)
        try origin.replace(
            OriginLayout.clientHistory(of: history.channel, history.system.rawValue), with: bytes)
    }

    /// Writes a document, durably, unless it is there.
    /// - Parameter epoch: that in which the history names it already; `nil` for a new one.
    /// - Returns: the epoch in which it stands.
    package func write(
        document bytes: [UInt8], _ address: ObjectID, of system: ClientSystem,
        in epoch: Int64? = nil
    ) throws(StoreError) -> Int64 {
        try origin.write(document: bytes, address, of: system.rawValue, in: epoch)
    }

    /// Whether a document is there, and is what its name says.
    package func has(
        _ document: ClientDocument, of system: ClientSystem
    ) throws(StoreError) -> Bool {
        try origin.has(
            document: document.address, document.byteCount, in: document.epoch,
            of: system.rawValue)
    }

    /// The bytes of a document; `nil` if it is not there.
    func bytes(
        of document: ClientDocument, of system: ClientSystem
    ) throws(StoreError) -> [UInt8]? {
        try origin.contents(
            OriginLayout.clientDocument(
                document.address, of: system.rawValue, in: document.epoch),
            limit: Int(ClientDocument.byteCountMax))
    }

    /// The documents of a directory that no history names, by their paths, sorted.
    ///
    /// Of a system that has a history which cannot be read there are none, and a notice says so: nobody knows.
    package static func leftovers(in origin: OriginPlace) throws(StoreError) -> [String] {
        try ClientFiles(origin).leftovers(origin)
    }

    private func leftovers(_ origin: OriginPlace) throws(StoreError) -> [String] {
        guard try areThere() else { return [] }
        var leftovers: [String] = []
        for system in ClientSystem.allCases {
            do throws(StoreError) {
                leftovers += try self.leftovers(of: system, origin)
            } catch {
                guard error.isOfClients else { throw error }
                origin.notice(
                    "no documents of \(system.rawValue) are deleted, since nobody knows which are needed: \(error.message)"
                )
            }
        }
        return leftovers.sorted()
    }

    private func leftovers(
        of system: ClientSystem, _ origin: OriginPlace
    ) throws(StoreError) -> [String] {
        let place = OriginLayout.clientDocuments(of: system.rawValue)
        let files = try origin.files(in: place)
        if files.isEmpty { return [] }
        let named = try documents(of: system, origin)
        return files.filter { ObjectID($0).map { !named.contains($0) } ?? true }
            .map { "\(place)/\($0)" }
    }

    /// The documents that the histories of a system name.
    private func documents(
        of system: ClientSystem, _ origin: OriginPlace
    ) throws(StoreError) -> Set<ObjectID> {
        var named: Set<ObjectID> = []
        for channel in try Self.channels(of: system, in: origin) {
            for offer in try history(of: channel, system)?.offers ?? [] {
                named.formUnion(offer.documents.map(\.address))
            }
        }
        return named
    }

    /// The channels of which a system has a history in a directory, sorted.
    package static func channels(
        of system: ClientSystem, in origin: OriginPlace
    ) throws(StoreError) -> [ChannelName] {
        try origin.files(in: OriginLayout.clients(of: system.rawValue))
            .compactMap(OriginLayout.channel(ofHistoryFile:)).sorted()
    }

    // MARK: Labels

    private static let labels = "\(OriginLayout.work)/\(OriginLayout.clientLabels)"

    /// The largest label that a channel ever gave to a system's clients, as far as that is known.
    package func labelCount(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> Int64 {
        try labels()[Self.name(channel, system)] ?? 0
    }

    private static func name(_ channel: ChannelName, _ system: ClientSystem) -> String {
        "\(system.rawValue) \(channel)"
    }

    private func labels() throws(StoreError) -> [String: Int64] {
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try origin.contents(Self.labels, limit: 1 << 20)
        } catch {
            guard error.saysNoFile else { throw error }
            bytes = nil
        }
        // A copy of what histories say: one that is no file, or no JSON, says nothing.
        let document = bytes.flatMap { try? JSONValue.parse($0) }
        var labels: [String: Int64] = [:]
        for member in document?.asObject ?? [] {
            // Nobody counts further.
            if let number = member.value.asInt64, 1..<1 << 40 ~= number {
                labels[member.key] = number
            }
        }
        return labels
    }

    private func noteLabels(of history: ClientHistory) throws(StoreError) {
        guard history.labelCount > 0 else { return }
        var labels = try labels()
        let name = Self.name(history.channel, history.system)
        guard labels[name] ?? 0 < history.labelCount else { return }
        labels[name] = history.labelCount
        let document = JSONValue.object(
            labels.map { .init(key: $0.key, value: .integer($0.value)) })
        try origin.replace(Self.labels, with: document.fileBytes)
    }
}
