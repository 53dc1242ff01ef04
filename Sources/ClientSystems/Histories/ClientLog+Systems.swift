package import CASStore
import HotPush
package import Origin
import StrictJSON

extension ClientSystem {
    var announced: AnnouncedSystem { AnnouncedSystem(known: rawValue) }
}

extension ClientLog {
    /// The settings of the systems that are enabled, sorted by system.
    /// - Parameters:
    ///   - systems: looks at these only; `nil` for all.
    ///   - passOver: receives each one that cannot be read. The system is left out unless the closure throws.
    /// - Throws: `.badClients`; what reading throws.
    package func configurations(
        of systems: Set<ClientSystem>? = nil,
        passingOver passOver: (ClientSystem, StoreError) throws(StoreError) -> Void = {
            (_, error) throws(StoreError) in throw error
        }
    ) throws(StoreError) -> [ClientConfiguration] {
        var found: [ClientConfiguration] = []
        for system in ClientSystem.allCases.sorted()
        where !isEmpty && systems.map({ $0.contains(system) }) ?? true {
            do throws(StoreError) {
                if let configuration = try configuration(of: system) {
                    found.append(configuration)
                }
            } catch {
                guard error.isOfClients else { throw error }
                try passOver(system, error)
            }
        }
        return found
    }

    package func configuration(
        of system: ClientSystem
    ) throws(StoreError) -> ClientConfiguration? {
        guard let document = try configuration(of: system.announced) else { return nil }
        // A disabled system has ended, whatever else its settings say.
        if document["enabled"]?.asBool == false { return nil }
        return try ClientConfiguration(document, of: system)
    }

    /// The settings that are about to be replaced or ended, also those of a disabled system, which are kept for when it is
    /// enabled again; unreadable ones count as none, and are reported if they are in force.
    package func replacedConfiguration(
        of system: ClientSystem, _ tell: (StoreError) -> Void
    ) throws(StoreError) -> ClientConfiguration? {
        do throws(StoreError) {
            if let enabled = try configuration(of: system) { return enabled }
            guard let disabled = try configuration(of: system.announced) else { return nil }
            // Nobody is told anything by settings that have ended: without them the system begins anew.
            return try? ClientConfiguration(disabled, of: system)
        } catch {
            guard error.isOfClients else { throw error }
            tell(error)
            return nil
        }
    }

    package func set(_ configuration: ClientConfiguration) throws(StoreError) {
        let before = try replacedConfiguration(of: configuration.system) { _ in }
        if before != configuration {
            set(configuration.document, for: configuration.system.announced)
        }
    }

    /// Ends a system without the right to delete; its histories stay, and with them the ids that clients keep.
    func disable(_ system: ClientSystem) throws(StoreError) {
        guard let members = try configuration(of: system.announced)?.asObject else { return }
        let rest = members.filter { $0.key != "enabled" }
        set(.object(rest + [.init(key: "enabled", value: .bool(false))]), for: system.announced)
    }

    /// What a channel has offered to a system's clients; empty if that was never written, or is lost.
    /// - Throws: `.badClients` for a damaged one, with what to do; what reading throws.
    func history(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> ClientHistory {
        let name = HistoryName(system: system.announced, channel: channel)
        return try history(name) { (file) throws(StoreError) in
            try ClientHistory(file, of: channel, system)
        } ?? ClientHistory(system, channel)
    }

    /// The same without what only a stranger may have added; `nil` if nobody can tell.
    func provedHistory(
        of channel: ChannelName, _ system: ClientSystem
    ) throws(StoreError) -> ClientHistory? {
        let name = HistoryName(system: system.announced, channel: channel)
        do throws(StoreError) {
            return try provedHistory(name).map { (file) throws(StoreError) in
                try ClientHistory(file, of: channel, system)
            }
        } catch {
            guard error.isOfClients else { throw error }
            return nil
        }
    }

    /// Replaces a history, dropping its oldest offers if it would be too large to read.
    /// - Throws: `.tooLarge` if the pointer's own releases are too much.
    func set(_ history: ClientHistory, of pointer: ChannelPointer) throws(StoreError) {
        var history = history
        var byteCount = history.file.serialized().count
        while byteCount > ClientHistory.byteCountMax {
            let count = history.offers.count
            history.drop(to: count / 2, listedIn: pointer)
            guard history.offers.count < count else {
                throw StoreError(
                    .tooLarge,
                    "what channel \(history.channel) offers to the clients of \(history.system.rawValue) takes \(byteCount) bytes; "
                        + "at most \(ClientHistory.byteCountMax) are read: castree prune --keep lists fewer releases"
                )
            }
            byteCount = history.file.serialized().count
        }
        // Read back: numbers in a history that castree did not write may leave none above them.
        _ = try ClientHistory(history.file, of: history.channel, history.system)
        set(history.file)
    }

    /// Whether a document exists and matches its address.
    func has(_ document: ClientDocument, of system: ClientSystem) throws(StoreError) -> Bool {
        try has(
            document: document.address, document.byteCount, of: system.announced, in: document.epoch
        )
    }

    func bytes(
        of document: ClientDocument, _ system: ClientSystem
    ) throws(StoreError) -> [UInt8]? {
        try self.document(
            document.address, of: system.announced, in: document.epoch,
            limit: ClientDocument.byteCountMax)
    }
}
