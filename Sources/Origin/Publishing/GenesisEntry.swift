import CASStore
import HotPush
import Storage
import VersionTree

/// Makes an origin that has no log: probes the store, then writes entry 1 with the pointers and clients' files found.
///
/// In a directory, whose listing is complete, that happens automatically: older castree versions wrote no log.
struct GenesisEntry {
    private let publisher: OriginPublisher
    private let log: OriginLog
    private var storage: any ObjectStorage { publisher.storage }

    init(_ publisher: OriginPublisher, _ log: OriginLog) {
        self.publisher = publisher
        self.log = log
    }

    /// - Parameters:
    ///   - seen: a pointer that is there.
    ///   - isUrgent: whether to continue in spite of errors in what was announced to other systems' clients.
    ///   - check: refuses a wrong command, given the origin without its log.
    /// - Returns: the state afterwards; somebody else may have been faster.
    /// - Throws: `.unsuitableStore`; `.badOrigin` if something else is there; `.damagedOrigin` if there was a log, or
    ///   pointers would be taken over without the option; what reading and writing throws.
    func create(
        _ seen: LogCopy.Seen, isUrgent: Bool,
        checking check: (OriginState) throws(StoreError) -> Void
    ) throws(StoreError) -> OriginState {
        let marked = try checkMarker()
        // Keeps out publishers of older castree versions.
        let lock = try OriginLock(storage, publisher.options)
        defer { withExtendedLifetime(lock) {} }
        if storage.isOnDisk, let state = try log.state(from: 0) { return state }
        let existing: Existing
        var first: LogEntry
        do throws(StoreError) {
            let traces = try traces(seen)
            let condition = try storage.probe()
            existing = try self.existing(traces, isUrgent: isUrgent)
            first = try entry(condition, existing.pointers)
            try check(OriginState(number: 0, entry: first, pointers: first.pointers))
        } catch {
            // Others may have made the origin in the meantime, whose pointers these are, and pruned the probe's files.
            guard let state = try log.state(from: 0) else { throw error }
            return state
        }
        _ = try existing.clients.add(to: &first, 1, upon: nil, log)
        guard let state = try found(first, marked) else {
            throw StoreError(.network, "entry 1 of the log in \(storage.place) cannot be read")
        }
        if existing.isChanged, state.number == 1 { bringUp(state) }
        return try announce(existing.clients, upon: state) ?? state
    }

    /// Writes entries until the log has all that was announced to other systems' clients.
    /// - Returns: the state after them; `nil` if the log contradicts, or somebody else writes to it.
    private func announce(
        _ clients: CopiedClients, upon state: OriginState
    ) throws(StoreError) -> OriginState? {
        var state = state
        while true {
            var entry = try LogEntry(after: state, .enable, now: publisher.now())
            guard let isPart = try clients.add(to: &entry, state.number + 1, upon: state.entry, log)
            else { return nil }
            guard isPart else { return state }
            guard let newer = try publisher.commit(entry, upon: state, log) else { return nil }
            state = newer
        }
    }

    /// What is there, unless a log may not be begun upon it.
    private func traces(_ seen: LogCopy.Seen) throws(StoreError) -> OriginTraces {
        let traces = try OriginTraces(of: storage)
        guard let loss = traces.loss(namedBy: seen.pointer?.log) else { return traces }
        // An entry that a pointer names is looked for later.
        let isOlder = storage.isOnDisk && seen.pointer?.log == nil
        guard publisher.options.takesOver || isOlder, traces.mayBeTakenOver else { throw loss }
        return traces
    }

    /// Writes pointers of an older log, which name entries that are gone.
    private func bringUp(_ state: OriginState) {
        for channel in state.pointers.keys.sorted() {
            do throws(StoreError) {
                try CopyWriting(log, publisher.pause).write(channel, of: state, isForced: true)
            } catch {
                // The entry exists; devices see what they saw before.
                publisher.options.notice(
                    "\(OriginLayout.pointer(channel)) could not be written (\(error.message)); castree fsck "
                        + "--repair writes it")
            }
        }
    }

    /// Refuses a place with an origin of a newer castree, or something else.
    /// - Returns: the id in the marker.
    /// - Throws: `.badOrigin`; `.unsupportedFormat`.
    @discardableResult
    func checkMarker() throws(StoreError) -> String? {
        guard
            let bytes = try storage.contents(OriginLayout.marker, limit: OriginMarker.byteCountMax)
        else { return nil }
        try OriginMarker.check(bytes, of: storage.place)
        return OriginMarker.id(in: bytes)
    }

    /// - Parameter condition: what probing the store has shown; `nil` for a dry run.
    private func entry(
        _ condition: LogEntry.PointerCondition?, _ pointers: [ChannelPointer]
    ) throws(StoreError) -> LogEntry {
        var entry = LogEntry(
            kind: .create, createdAt: publisher.now(), author: try LogEntry.drawAuthor(),
            keptFrom: 1)
        entry.pointerCondition = condition
        for pointer in pointers {
            entry.channels[pointer.channel] = 1
            entry.pointers[pointer.channel] = pointer
        }
        return entry
    }

    /// Writes the marker and entry 1.
    /// - Parameter marked: the id in the marker, the only record of it if no pointer is signed.
    /// - Returns: the state afterwards; somebody else may have been faster.
    private func found(_ entry: LogEntry, _ marked: String?) throws(StoreError) -> OriginState? {
        try storage.write(
            marker: OriginMarker.serialized(
                of: storage.trustedOrigin(saidBy: entry.pointers.values) ?? marked,
                hasClients: !entry.clients.isEmpty))
        if try LogCommit(entry, 1, log, publisher.pause).carryOut() {
            log.note(entry, 1)
            let count = entry.pointers.count
            publisher.options.notice(
                storage is DraftStorage
                    ? wouldBegin
                    : count == 0
                        ? "made a new origin at \(storage.place)"
                        : "the log of the origin at \(storage.place) begins with the pointers of "
                            + (count == 1 ? "1 channel" : "\(count) channels"))
            return OriginState(number: 1, entry: entry, pointers: entry.pointers)
        }
        return try log.state(from: 1)
    }

    private var wouldBegin: String { "would begin the log of an origin at \(storage.place)" }

    /// The state in a dry run.
    /// - Throws: as ``create(_:isUrgent:checking:)``.
    func planned(_ seen: LogCopy.Seen) throws(StoreError) -> OriginState {
        try checkMarker()
        let existing = try existing(traces(seen))
        let entry = try entry(nil, existing.pointers)
        publisher.options.notice(wouldBegin)
        return OriginState(number: 1, entry: entry, pointers: entry.pointers)
    }

    private struct Existing {
        var pointers: [ChannelPointer] = []
        /// Whether the pointers differ from those that are there.
        var isChanged = false
        var clients: CopiedClients
    }

    /// The pointers of an origin without a log, with all their manifests.
    /// - Throws: `.damagedOrigin` if a manifest is missing, or something is offered in a later epoch than the first.
    private func existing(
        _ traces: OriginTraces, isUrgent: Bool = false
    ) throws(StoreError) -> Existing {
        let passOver = isUrgent ? publisher.options.notice : nil
        var existing = Existing(clients: try CopiedClients(in: storage, passingOver: passOver))
        let there = try pointers(of: traces.channels)
        for var pointer in there {
            // A first entry cannot have a later epoch, so nobody could read it any more.
            for release in pointer.liveReleases {
                let epoch = max(release.version.epoch, release.delivery?.epoch ?? 0)
                guard epoch == 0 else { throw traces.loss(with: epoch) }
            }
            if let entry = pointer.log {
                guard publisher.options.takesOver else {
                    throw traces.loss(namedBy: entry) ?? traces.loss(with: 0)
                }
                pointer.log = nil
                existing.isChanged = true
                if pointer.isSigned { pointer = try sign(pointer, upon: there) }
            }
            existing.pointers.append(pointer)
        }
        return existing
    }

    /// Signs a pointer of an older log again, because its signatures name an entry.
    private func sign(
        _ pointer: ChannelPointer, upon there: [ChannelPointer]
    ) throws(StoreError) -> ChannelPointer {
        var pointers: [ChannelName: ChannelPointer] = [:]
        for pointer in there { pointers[pointer.channel] = pointer }
        return try publisher.options.signing.sign(
            pointer.renewed(now: publisher.now()), upon: pointers, in: storage,
            now: publisher.now(), notice: publisher.options.notice)
    }

    private func pointers(of names: [ChannelName]) throws(StoreError) -> [ChannelPointer] {
        var pointers: [ChannelPointer] = []
        for name in names {
            guard let pointer = try storage.pointer(of: name) else { continue }
            // An older castree's origin continues as it was, whatever it has lost.
            if !storage.isOnDisk { try check(pointer) }
            pointers.append(pointer)
        }
        return pointers
    }

    /// Checks that a copy is complete, because nobody could tell later what was forgotten.
    private func check(_ pointer: ChannelPointer) throws(StoreError) {
        for version in pointer.releases.compactMap(\.version) {
            let key = OriginLayout.path(.manifest, version.manifest, in: version.epoch)
            guard try storage.head(key) != nil else {
                throw .damagedOrigin(
                    "channel \(pointer.channel) in \(storage.place) offers version \(version.name), and \(key) is not "
                        + "there; copy the directory origin again, or delete that pointer")
            }
        }
        for release in pointer.liveReleases { try checkPacks(of: release, in: pointer.channel) }
    }

    /// Checks the packs that a pointer names: if they were missing, nobody could prune any more.
    private func checkPacks(of release: LiveRelease, in channel: ChannelName) throws(StoreError) {
        guard let delivery = release.delivery else { return }
        let document = try storage.delivery(delivery, of: release.version)
        let packs = document?.packs.map {
            SizedKey(.pack, $0.address, in: delivery.epoch, $0.byteCount)
        }
        if let packs, try storage.missing(of: packs, publisher.options).isEmpty {
            return
        }
        throw .damagedOrigin(
            "channel \(channel) in \(storage.place) offers packs of version \(release.version.name), and they are "
                + "not all there; copy \(OriginLayout.packs)/ and \(OriginLayout.deliveries)/ of the directory again"
        )
    }
}

extension ObjectStorage {
    /// Probes, by up to six requests, whether a store refuses to overwrite, and how it takes the tag for replacing.
    /// - Throws: `.unsuitableStore` if the store creates a file that exists.
    func probe() throws(StoreError) -> LogEntry.PointerCondition {
        if isOnDisk { return .inQuotes }
        let body = try StorageBody(Array("castree\n".utf8))
        var key = OriginLayout.probe(try LogEntry.drawAuthor())
        var first = try putIfAbsent(key, body, .logEntry)
        if case .conditionFailed = first {
            // The answer to the first try was lost: nobody else has drawn this name.
            key = OriginLayout.probe(try LogEntry.drawAuthor())
            first = try putIfAbsent(key, body, .logEntry)
        }
        guard case .stored(let tag?) = first else { throw refusal(first) }
        let second = try putIfAbsent(key, body, .logEntry)
        switch second {
        case .conditionFailed: break
        case .unknown, .conflict: throw refusal(second)
        case .stored, .unsupported: throw LogCommit.unsuitable(self)
        }
        // The file stays until a prune, since publishers need no right to delete.
        return try pointerCondition(key, tag, body)
    }

    private func refusal(_ outcome: WriteOutcome) -> StoreError {
        switch outcome {
        case .unknown(let reason):
            return StoreError(reason.refusal ?? .network, "\(place) cannot be probed: \(reason)")
        case .conditionFailed, .conflict:
            // The first try was stored, and its answer came too late: that is no overwriting.
            return StoreError(
                .network,
                "\(place) cannot be probed: the store answers too late; repeat the command")
        case .stored, .unsupported: return LogCommit.unsuitable(self)
        }
    }

    private func pointerCondition(
        _ key: String, _ tag: EntityTag, _ body: StorageBody
    ) throws(StoreError) -> LogEntry.PointerCondition {
        let wrong = EntityTag("00000000000000000000000000000000")
        for spelling in TagSpelling.allCases {
            let right = try putIf(key, body, .logEntry, matching: tag, spelling)
            if case .unknown = right { throw refusal(right) }
            guard right.isStored else { continue }
            let other = try putIf(key, body, .logEntry, matching: wrong, spelling)
            if case .unknown = other { throw refusal(other) }
            if case .conditionFailed = other {
                return LogEntry.PointerCondition(rawValue: spelling.rawValue) ?? .none
            }
        }
        return .none
    }

    func write(marker: [UInt8]) throws(StoreError) {
        let written = try put(OriginLayout.marker, StorageBody(marker), .pointer)
        guard case .unknown(let why) = written else { return }
        throw StoreError(
            why.refusal ?? .network, "no answer came to \(OriginLayout.marker) in \(place): \(why)")
    }

    func pointer(of channel: ChannelName) throws(StoreError) -> ChannelPointer? {
        try contents(OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax).map {
            (bytes) throws(StoreError) in try ChannelPointer(parsing: bytes, of: channel)
        }
    }
}
