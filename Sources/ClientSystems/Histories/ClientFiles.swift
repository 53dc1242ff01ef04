package import CASStore
package import HotPush
import StrictJSON

/// The files of an origin that say what the clients of other systems are told: `for/…`.
///
/// Whoever writes makes an entry of the origin's log.
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
}
