package import CASStore
import Storage
package import VersionTree

// What the clients of other systems are told: in the same entry of the log as what is offered.

extension OriginPublisher {
    /// Whether anybody is told what a channel offers.
    func tells(
        of channel: ChannelName, _ state: OriginState, _ log: OriginLog, _ source: ReleaseSource
    ) throws(StoreError) -> Bool {
        guard let telling = options.telling else { return false }
        return try telling.tells(of: channel, in: ClientLog(state, log, source, options))
    }

    /// Adds to an entry what the clients of other systems are told of a channel: as the entry offers it, or as it stands.
    func tell(
        of channel: ChannelName, upon state: OriginState, _ log: OriginLog,
        _ source: ReleaseSource, _ entry: inout LogEntry
    ) throws(StoreError) {
        let before = state.pointers[channel]
        guard let telling = options.telling, let pointer = entry.pointers[channel] ?? before
        else { return }
        let clients = ClientLog(state, log, source, options)
        try telling.tell(pointer, upon: before, in: clients)
        try clients.write(to: &entry)
    }

    /// What the clients of other systems are told now, for who looks: what is set there goes nowhere.
    ///
    /// - Parameter versions: the store that has the files of releases, too; `nil` for none.
    /// - Throws: `.noOrigin`; what reading throws.
    package func clients(with versions: VersionStore? = nil) throws(StoreError) -> ClientLog {
        // Nothing is begun for who looks, and nobody is told that it would be.
        var looking = OriginPublisher(
            DraftStorage(over: storage), options: options, now: now, pause: pause)
        let log = looking.makeLog()
        looking.options.notice = { _ in }
        let state = try looking.open(.stable, log).state
        return ClientLog(
            state, log, ReleaseSource(SeenFiles(in: storage), versions), options)
    }

    /// Begins to tell the clients of a system what channels offer: as ``Publisher/beginTelling(of:_:)``.
    ///
    /// An entry for each channel gives its releases their facts, and tells of them; the last one lets it be seen, upon exactly
    /// what was told.
    /// - Parameters:
    ///   - versions: the store in which twins are made; objects that it lacks are fetched from the origin.
    ///   - configure: says what ``PublisherOptions/telling`` goes by from then on.
    /// - Returns: what was committed last, and what the channels offer then, sorted by name; those that exist.
    /// - Throws: as ``publish(_:of:as:)``; `.noOrigin`; `.damagedOrigin` if something that is offered is not there.
    package func beginTelling(
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
            // The marker says that clients of other systems update from the origin.
            try storage.write(
                marker: OriginMarker.serialized(of: try storage.markedID(), hasClients: true))
        }
        let lock = try OriginLock(storage, options, .sharing)
        defer { withExtendedLifetime(lock) {} }
        let making = TwinMaking(ReleaseSource(SeenFiles(in: storage), versions), options)
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
            // Somebody may have published to a channel while another one was told.
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
        let commit = try finishTelling(of: channels, state, log, isUnchanged: !isChanged)
        return (commit, channels.sorted().compactMap { state.pointers[$0] })
    }

    private func finishTelling(
        of channels: Set<ChannelName>, _ state: OriginState, _ log: OriginLog, isUnchanged: Bool
    ) throws(StoreError) -> OriginCommit {
        let (first, others) = (channels.min() ?? .stable, channels.sorted().dropFirst())
        var commit = try finish(
            first, LogCopy.pointer(first).read(from: storage), state, log, isUnchanged: isUnchanged)
        for channel in others {
            do throws(StoreError) {
                try CopyWriting(log, pause).write(channel, of: state)
            } catch {
                // The entry stands; clients see it with the next command.
                commit.pointerProblem = error
            }
        }
        // Devices see what is theirs; whoever has asked for the others is told why they see nothing.
        let writing = CopyWriting(log, pause)
        for channel in [first] + others { try writing.writeTold(of: channel, state) }
        commit.figures = storage.figures
        return commit
    }

    /// Gives the releases of a channel their facts, and tells of them.
    private func know(
        _ channel: ChannelName, upon state: OriginState, _ log: OriginLog, _ making: TwinMaking
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
                // While the last were sent, the first may have become useless.
                guard state.number == number else { continue }
                return state.pointers[channel]?.knowing(facts, now: now()).map { ($0, .enable) }
            }
        }
    }

    private func place(
        _ release: LiveRelease, of channel: ChannelName, in state: inout OriginState,
        _ making: TwinMaking, _ watch: UploadWatch
    ) throws(StoreError) -> PublishedFacts {
        let files = making.source.files(of: release)
        let manifest = try files.manifest()
        var standing: [ObjectID: Int64] = [:]
        for object in try files.objects() { standing[object.key.address] = object.key.epoch }
        return try FactsUpload(
            manifest, release.version, for: channel, making, watch
        ).place(in: &state, standing: standing)
    }
}
