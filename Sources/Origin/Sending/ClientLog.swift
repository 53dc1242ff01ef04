package import CASStore
package import HotPush
import Storage
package import StrictJSON
package import VersionTree

/// What the log announces to other systems' clients after an entry, and what the next entry adds.
///
/// Configurations and histories are values gathered for that entry; documents are sent immediately. After a lost race
/// everything is made anew upon the newest state. All calls may throw as reading and writing. Belongs to one thread.
package final class ClientLog {
    private let state: OriginState
    private let log: OriginLog
    private let source: ReleaseSource
    private let options: PublisherOptions
    private var existing: [HistoryName: HistoryFile?] = [:]
    private var configurations: [AnnouncedSystem: JSONValue] = [:]
    private var histories: [HistoryName: HistoryFile] = [:]
    /// The histories that the newest rows cannot rebuild.
    private var mended: Set<HistoryName> = []

    /// - Parameter source: what has the files of releases.
    init(
        _ state: OriginState, _ log: OriginLog, _ source: ReleaseSource,
        _ options: PublisherOptions
    ) {
        self.state = state
        self.log = log
        self.source = source
        self.options = options
    }

    /// The origin, as the caller named it.
    package var path: String { log.storage.argument }
    package var notice: @Sendable (String) -> Void { options.notice }
    /// Reports how many bytes were patched, and of how many.
    package var patched: @Sendable (Int64, Int64) -> Void {
        let progress = options.progress
        return { progress(PublishProgress(bytes: $0, bytesTotal: $1, step: .patching)) }
    }
    package var isInterrupted: @Sendable () -> Bool { options.isInterrupted }
    package var pointers: [ChannelName: ChannelPointer] { state.pointers }
    /// Whether no system was ever enabled.
    package var isEmpty: Bool { state.entry.clients.isEmpty }

    func write(to entry: inout LogEntry) throws(StoreError) {
        let number = state.number + 1
        for (system, configuration) in configurations {
            entry.configurations[system] = configuration
            entry.clients[system, default: ClientPlaces()].configuration = number
        }
        for (name, history) in histories {
            let before = state.entry.clients[name.system]?.histories[name.channel] ?? 0
            let old = try existing(name)
            let pointer = entry.pointers[name.channel] ?? state.pointers[name.channel]
            entry.rows[name] =
                if let old, !isWhole(history, after: old) {
                    try HistoryRows(from: old, to: history, before: before)
                } else {
                    try HistoryRows(
                        from: HistoryFile(name), to: fitting(history, pointer), before: before)
                }
            entry.clients[name.system, default: ClientPlaces()].histories[name.channel] = number
        }
    }

    /// More than a history of castree's ever loses at once.
    private static let droppedCountMax = 5_000

    /// Whether a history is written without earlier rows: a stranger's cannot be rebuilt, or are too many to name.
    private func isWhole(_ history: HistoryFile, after old: HistoryFile) -> Bool {
        if mended.contains(history.name) { return true }
        guard old.offers.count > Self.droppedCountMax else { return false }
        let kept = Set(history.offers)
        return old.offers.count { !kept.contains($0) } > Self.droppedCountMax
    }

    /// A history without the oldest offers for which an entry has no space, if possible with those of listed releases.
    private func fitting(_ history: HistoryFile, _ pointer: ChannelPointer?) -> HistoryFile {
        let limit = state.entry.rowsByteCountMax
        var (fitting, count) = (history, history.offers.count)
        while count > 0, fitting.serialized().count > limit {
            count /= 2
            let first = history.offers.count - count
            // Only the last offer of a sequence counts.
            var needed = Set(pointer?.releases.map(\.sequence) ?? [])
            let kept = history.offers.enumerated().reversed().filter { (position, offer) in
                let counts = offer["sequence"]?.asInt64.flatMap { needed.remove($0) } != nil
                return counts || position >= first
            }
            fitting.offers = kept.reversed().map(\.element)
        }
        if fitting.serialized().count > limit { fitting.offers = [] }
        return fitting
    }

    // MARK: Configurations and histories

    /// The operator's configuration for a system; `nil` for none.
    package func configuration(of system: AnnouncedSystem) throws(StoreError) -> JSONValue? {
        if let pending = configurations[system] { return pending }
        return try log.configuration(of: system, in: state.entry)
    }

    package func set(_ configuration: JSONValue, for system: AnnouncedSystem) {
        configurations[system] = configuration.withSortedKeys
    }

    /// What a channel has offered to a system's clients; `nil` for nothing.
    ///
    /// A history that cannot be understood is a stranger's. The one before it counts then, and the next entry says so.
    /// - Parameter read: throws what is wrong with a history.
    package func history<History>(
        _ name: HistoryName, reading read: (HistoryFile) throws(StoreError) -> History
    ) throws(StoreError) -> History? {
        let pending = histories[name]
        let known = if let pending { pending } else { try existing(name) }
        guard let file = known else { return nil }
        do throws(StoreError) {
            return try read(file)
        } catch {
            guard pending == nil, mended.insert(name).inserted else { throw error }
            let sound = try log.soundHistory(name, before: state.entry, near: nil) {
                // The reason for refusing a history does not matter.
                (try? read($0)) != nil
            }
            // Even if the next entry offers nothing: readers have nothing else.
            let file = sound ?? HistoryFile(name)
            histories[name] = file
            notice("\(error.message); the next release continues from what was offered before")
            return try read(file)
        }
    }

    /// A history as a trusted key has signed it last, without what a stranger may have added since; `nil` if nobody can
    /// tell.
    package func provedHistory(_ name: HistoryName) throws(StoreError) -> HistoryFile? {
        try log.provedHistory(name, before: state.entry)
    }

    package func set(_ history: HistoryFile) { histories[history.name] = history }

    private func existing(_ name: HistoryName) throws(StoreError) -> HistoryFile? {
        guard state.entry.clients[name.system]?.histories[name.channel] != nil else { return nil }
        if let known = existing[name] { return known }
        // The copy only saves reading entries.
        let copy = try allowing(
            \.saysFileIsUnreadable, try LogCopy.history(name).read(from: log.storage))
        let near = HistoryFile(copy?.document, of: name)
        let history: HistoryFile?
        do throws(StoreError) {
            history = try log.history(name, in: state.entry, near: near)
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            history = try log.soundHistory(name, before: state.entry, near: near)
            mended.insert(name)
            notice("\(error.message); the next release continues from what was offered before")
        }
        existing[name] = .some(history)
        return history
    }

    /// A file that contradicts the log.
    package struct StaleFile {
        package var path: String
        /// The system whose clients alone read it; `nil` for all clients of a channel, or of the origin.
        package var system: String?
        package var channel: ChannelName?
    }

    /// The files that contradict the log, so that clients get old answers or none.
    /// - Parameter channels: those whose pointers are examined.
    package func staleFiles(_ channels: Set<ChannelName>) throws(StoreError) -> [StaleFile] {
        var stale: [StaleFile] = []
        if try !hasMarker() { stale.append(StaleFile(path: OriginLayout.marker)) }
        let pointers = state.pointers.keys.filter(channels.contains).sorted()
        for copy in pointers.map(LogCopy.pointer) + LogCopy.announced(in: state.entry) {
            do throws(StoreError) {
                if try copy.isAsNew(copy.read(from: log.storage), as: state, log) { continue }
            } catch {
                guard OriginLog.saysEntryIsBad(error) || error.isOfPlace else { throw error }
            }
            var file = StaleFile(path: copy.key, system: copy.system?.description)
            if case .pointer(let channel) = copy { file.channel = channel }
            stale.append(file)
        }
        return stale
    }

    /// Whether the marker is right, as far as it may be read.
    private func hasMarker() throws(StoreError) -> Bool {
        do throws(StoreError) {
            let bytes = try log.storage.contents(
                OriginLayout.marker, limit: OriginMarker.byteCountMax)
            return bytes.map(OriginMarker.isKnown) ?? false
        } catch {
            guard ReleaseFiles.isHarmless(error) || error.code == .accessDenied else { throw error }
            return error.code == .accessDenied
        }
    }

    // MARK: Documents

    /// Writes an immutable document durably, unless it exists.
    /// - Parameter epoch: that in which a history names it already; `nil` for a new one.
    /// - Returns: the epoch in which it is.
    package func write(
        document bytes: [UInt8], _ address: ObjectID, of system: AnnouncedSystem,
        in epoch: Int64? = nil
    ) throws(StoreError) -> Int64 {
        let newest = state.entry.epoch
        let kind = OriginKey.Kind.document(of: system)
        // A history keeps the document live: it is written again in its place (docs/buckets.md, rule G).
        let place = epoch ?? source.seen.epoch(of: kind, address, upon: newest) ?? newest
        try source.seen.send(
            StorageBody(bytes, address: address), OriginKey(kind, address, in: place))
        return place
    }

    /// The bytes of a document; `nil` if it is missing.
    /// - Throws: also `.tooLarge` beyond `limit` bytes.
    package func document(
        _ address: ObjectID, of system: AnnouncedSystem, in epoch: Int64, limit: Int64
    ) throws(StoreError) -> [UInt8]? {
        let key = OriginKey(.document(of: system), address, in: epoch)
        let (outcome, bytes) = try source.storage.bytes(key.path, ReadRequest(byteCountMax: limit))
        if case .found = outcome { return bytes }
        return nil
    }

    /// Whether a document exists and matches its name, as far as this publisher looks.
    package func has(
        document address: ObjectID, _ byteCount: Int64, of system: AnnouncedSystem, in epoch: Int64
    ) throws(StoreError) -> Bool {
        let storage = source.storage
        // No prune deletes what a history names.
        guard options.looks(in: storage) else { return true }
        let key = OriginKey(.document(of: system), address, in: epoch)
        guard try storage.head(key.path)?.byteCount == byteCount else { return false }
        guard storage.isOnDisk else { return true }
        let request = ReadRequest(byteCountMax: byteCount)
        return try ObjectID(of: storage.bytes(key.path, request).bytes) == address
    }

    /// The files of a release; `nil` if it has no facts, or something is missing.
    package func content(of release: ChannelRelease) throws(StoreError) -> ReleaseContent? {
        try source.content(of: release)
    }

    /// - Throws: `.damagedOrigin` if the documents of a release are lost, so that nobody can be told of it.
    package func checkContent(of offered: ChannelRelease) throws(StoreError) {
        guard let release = LiveRelease(offered) else { return }
        let files = ReleaseFiles(release, source.storage, nil)
        _ = (try files.facts(), try files.manifest())
    }

    /// The files of a version of the store that is about to be published.
    package func content(of manifest: Manifest, _ facts: ContentFacts) -> ReleaseContent {
        ReleaseContent(manifest: manifest, facts: facts, nil, source)
    }
}

/// Announces to other systems' clients what a channel is about to offer.
///
/// HotPush knows none of them; ClientSystems conforms. Every call may throw what reading and writing throws.
package protocol OfferAnnouncing: Sendable {
    /// Whether what a channel offers is announced to anybody, so that its releases need facts.
    func announces(of channel: ChannelName, in clients: ClientLog) throws(StoreError) -> Bool
    /// Adds to the next entry of the log what must accompany a pointer.
    ///
    /// It is called before each attempt to write a pointer, and for an existing pointer if something may be missing.
    /// Everything that the pointer names exists.
    /// - Parameter before: what the pointer is built upon; equal to an existing pointer.
    func announce(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, in clients: ClientLog
    ) throws(StoreError)
}
