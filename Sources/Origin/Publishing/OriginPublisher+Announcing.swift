package import CASStore
package import HotPush
import Storage
package import VersionTree

// What is announced to other systems' clients, in the same entry of the log as the offer.

extension OriginPublisher {
    func announces(
        of channel: ChannelName, _ state: OriginState, _ log: OriginLog, _ source: ReleaseSource
    ) throws(StoreError) -> Bool {
        guard let announcing = options.announcing else { return false }
        return try announcing.announces(of: channel, in: ClientLog(state, log, source, options))
    }

    /// Adds to an entry what is announced to other systems' clients of a channel, by the entry's offers or the current
    /// ones.
    func announce(
        of channel: ChannelName, upon state: OriginState, _ log: OriginLog,
        _ source: ReleaseSource, _ entry: inout LogEntry
    ) throws(StoreError) {
        let before = state.pointers[channel]
        guard let announcing = options.announcing, let pointer = entry.pointers[channel] ?? before
        else { return }
        let clients = ClientLog(state, log, source, options)
        do throws(StoreError) {
            try announcing.announce(pointer, upon: before, in: clients)
        } catch {
            throw SeenFiles.beforeCommit(error)
        }
        try clients.write(to: &entry)
    }

    /// What is announced to other systems' clients now, for reading: changes to it have no effect.
    /// - Parameter versions: a store that also has the files of releases; `nil` for none.
    /// - Throws: `.noOrigin`; what reading throws.
    package func clients(with versions: VersionStore? = nil) throws(StoreError) -> ClientLog {
        // Reading begins no log, and reports nothing of that.
        var looking = OriginPublisher(
            DraftStorage(over: storage), options: options, now: now, pause: pause)
        let log = looking.makeLog()
        looking.options.notice = { _ in }
        let state = try looking.open(.stable, log).state
        return ClientLog(state, log, ReleaseSource(SeenFiles(in: storage), versions), options)
    }

    /// Begins to announce to a system's clients what channels offer.
    ///
    /// An entry for each channel gives its releases their facts. The last one announces exactly these offers.
    /// - Parameters:
    ///   - versions: the store in which copies are deflated; objects that it does not have are fetched from the origin.
    ///   - configure: sets what ``PublisherOptions/telling`` reads from then on.
    /// - Returns: the last commit, and what the existing channels offer then, sorted by name.
    /// - Throws: as ``publish(_:of:as:_:)``; `.noOrigin`; `.damagedOrigin` if something that is offered is missing.
    package func beginAnnouncing(
        of channels: Set<ChannelName>, _ versions: VersionStore?,
        _ configure: (ClientLog) throws(StoreError) -> Void
    ) throws(StoreError) -> (commit: OriginCommit, pointers: [ChannelPointer]) {
        let log = makeLog()
        var state = try open(.stable, log) { (state) throws(StoreError) in
            for channel in channels.sorted() where state.pointers[channel] != nil {
                try checkSigning(channel, upon: state, log)
            }
        }.state
        if !channels.isEmpty, state.entry.clients.isEmpty {
            try storage.write(
                marker: OriginMarker.serialized(of: try storage.markedID(), hasClients: true))
        }
        let lock = try OriginLock(storage, options, .sharing)
        defer { withExtendedLifetime(lock) {} }
        let making = DeflatedCopyMaking(ReleaseSource(SeenFiles(in: storage), versions), options)
        var places: [ChannelName: Int64] = [:]
        var isChanged = false
        var tryCount = 0
        while true {
            if options.isInterrupted() { throw .publishingInterrupted }
            for channel in channels.sorted() {
                guard let place = state.entry.channels[channel], places[channel] != place else {
                    continue
                }
                let commit: OriginCommit
                (commit, state) = try know(channel, upon: state, log, making)
                isChanged = isChanged || !commit.isUnchanged
                places[channel] = state.entry.channels[channel]
            }
            // Somebody may have published to one channel while another was prepared.
            guard channels.allSatisfy({ state.entry.channels[$0] == places[$0] }) else { continue }
            var entry = try LogEntry(after: state, .enable, now: now())
            let clients = ClientLog(state, log, making.source, options)
            try configure(clients)
            try clients.write(to: &entry)
            guard !entry.configurations.isEmpty else { break }
            if let newer = try commit(entry, upon: state, log) {
                (state, isChanged) = (newer, true)
                break
            }
            try wait(behindOthers: &tryCount)
            state = try self.state(of: log, from: state.number + 1)
        }
        let commit = try finishAnnouncing(of: channels, state, log, isUnchanged: !isChanged)
        return (commit, channels.sorted().compactMap { state.pointers[$0] })
    }

    private func finishAnnouncing(
        of channels: Set<ChannelName>, _ state: OriginState, _ log: OriginLog, isUnchanged: Bool
    ) throws(StoreError) -> OriginCommit {
        let (first, others) = (channels.min() ?? .stable, channels.sorted().dropFirst())
        var commit = try finish(
            first, LogCopy.pointer(first).read(from: storage), state, log, isUnchanged: isUnchanged)
        for channel in others {
            do throws(StoreError) {
                try CopyWriting(log, pause).write(channel, of: state)
            } catch {
                // The entry exists; clients see it after the next command.
                commit.pointerProblem = error
            }
        }
        // Devices see their own pointer; an error with the other files explains why other clients see nothing.
        let writing = CopyWriting(log, pause)
        for channel in [first] + others { try writing.writeAnnounced(of: channel, state) }
        commit.figures = storage.figures
        return commit
    }

    private func know(
        _ channel: ChannelName, upon state: OriginState, _ log: OriginLog,
        _ making: DeflatedCopyMaking
    ) throws(StoreError) -> (commit: OriginCommit, state: OriginState) {
        let seen = try LogCopy.pointer(channel).read(from: storage)
        let watch = UploadWatch(log, now: now)
        return try committing(to: channel, seen, upon: state, log, making.source) {
            (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
            while true {
                let number = state.number
                var facts: [ObjectID: PublishedFacts] = [:]
                for release in state.pointers[channel]?.liveReleases ?? [] {
                    facts[release.version.manifest] = try place(
                        release, of: channel, in: &state, making, watch)
                }
                // While the last files were sent, the first may have become useless.
                guard state.number == number else { continue }
                return state.pointers[channel]?.knowing(facts, now: now()).map { ($0, .enable) }
            }
        }
    }

    private func place(
        _ release: LiveRelease, of channel: ChannelName, in state: inout OriginState,
        _ making: DeflatedCopyMaking, _ watch: UploadWatch
    ) throws(StoreError) -> PublishedFacts {
        let files = making.source.files(of: release)
        let manifest = try files.manifest()
        var existing: [ObjectID: Int64] = [:]
        for object in try files.objects() { existing[object.key.address] = object.key.epoch }
        return try FactsUpload(
            manifest, release.version, for: channel, making, watch
        ).place(in: &state, existing: existing)
    }
}
