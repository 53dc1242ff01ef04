package import CASStore
package import HotPush
package import Storage
package import VersionTree

/// Writes versions of a store to an origin, beside any number of other publishers and pruners.
///
/// The origin's truth is a log of entries that are created once (`docs/buckets.md`). A commit is one such entry: the
/// first to create it wins, and the others begin anew upon it. Files are stored under the epoch in which they were
/// written, so that a late deletion never hits a file that was written again. Channels' pointers are copies for
/// devices, written after the log; every command repairs outdated ones.
///
/// A process may die, or lose any answer, at any point: what was acknowledged is in the log exactly once, and
/// repeating the command finds it.
package struct OriginPublisher: Sendable {
    let storage: any ObjectStorage
    package var options: PublisherOptions
    /// Seconds since 1970.
    let now: @Sendable () -> Int64
    /// Waits for this many milliseconds.
    let pause: @Sendable (Int) -> Void

    package var figures: StorageFigures { storage.figures }
    /// Whether packs and other derived files are made in a store.
    package var needsStore: Bool { storage.work == nil }

    package init(
        _ storage: any ObjectStorage, options: PublisherOptions = PublisherOptions(),
        now: @escaping @Sendable () -> Int64 = { secondsNow() },
        pause: @escaping @Sendable (Int) -> Void = { CASStore.pause(milliseconds: Int32($0)) }
    ) {
        self.storage = storage
        self.options = options
        self.options.notice = PublisherOptions.once(options.notice)
        self.now = now
        self.pause = pause
    }

    /// Writes a version to the origin and offers it at the head of a channel; makes the origin if there is none.
    /// - Parameter described: the result of ``Publisher/describe(_:of:_:_:)``, if it was called already.
    /// - Throws: as ``Publisher/publish(_:of:as:)``, and what the storage throws; `.unsuitableStore` if the store
    ///   cannot refuse to overwrite; `.outcomeUnknown` if no answer came to the commit, so that the call must be
    ///   repeated; `.damagedOrigin` for a log that breaks its rules, or is gone.
    package func publish(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer(),
        _ described: Publisher.Description? = nil
    ) throws(StoreError) -> OriginCommit {
        guard options.packs.timing == .after else {
            return try advising(on: offer.channel, name) { () throws(StoreError) in
                try publishNow(name, of: versions, as: offer, described)
            }
        }
        var publisher = self
        publisher.options.packs.timing = .never
        var commit = try publisher.publish(name, of: versions, as: offer, described)
        options.notice("version \(name) is offered; its packs follow")
        guard let version = commit.plan?.version else { return commit }
        var packer = self
        // It builds upon what it has just signed.
        packer.options.signing.trusted = []
        let packed = try options.withSpace(for: version, in: storage.place, offer.channel) {
            () throws(StoreError) in try packer.pack(name, of: versions, in: offer.channel)
        }
        guard let packed else { return commit }
        (commit.entry, commit.epoch, commit.packing) = (packed.entry, packed.epoch, packed.packing)
        commit.plan?.packing = packed.packing
        (commit.fetched, commit.figures) = (packed.fetched, packed.figures)
        if let problem = packed.pointerProblem {
            options.notice(
                "the packs of version \(name) are seen after the next command on channel \(offer.channel): "
                    + problem.message)
        }
        return commit
    }

    private func publishNow(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer,
        _ described: Publisher.Description?
    ) throws(StoreError) -> OriginCommit {
        let pin = try Publisher.pin(name, of: versions)
        defer { withExtendedLifetime(pin) {} }
        let log = makeLog()
        let described =
            if let described { described } else {
                try Publisher.describe(name, of: versions, offer, options.limits)
            }
        let publication = publication(described, of: versions, in: offer.channel, log)
        let version = publication.version
        let (state, seen) = try open(offer.channel, log, isCreating: true) {
            (state) throws(StoreError) in
            try checkSigning(offer.channel, upon: state, log)
            _ = try base(for: version, in: offer.channel, state, log, isSaid: false)
        }
        if state.pointers[offer.channel] == nil, !state.pointers.isEmpty {
            let others = state.pointers.keys.sorted().map(\.description).joined(separator: ", ")
            options.notice("channel \(offer.channel) is new; the origin had \(others)")
        }
        let packing = ReleasePacking(publication)
        if options.verifiesObjects, options.packs.timing == .never {
            try packing.checkKept(in: state)
        }
        if options.packs.timing == .before { try packing.prepareIfSpace(in: state) }
        let lock = try OriginLock(storage, options, .sharing)
        defer { withExtendedLifetime(lock) {} }
        let upload = ReleaseUpload(publication)
        let source = ReleaseSource(publication.seen, versions)
        let making = DeflatedCopyMaking(source, options)
        let facts = try FactsUpload(
            publication.manifest, version, for: offer.channel, making, publication.watch)
        var upon: ChannelPointer?
        func change(
            _ state: inout OriginState
        ) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? {
            state = try base(for: version, in: offer.channel, state, log)
            let release = try place(offer, upload, packing, facts, log, source, in: &state)
            state = try base(for: version, in: offer.channel, state, log)
            upon = state.pointers[offer.channel]
            let before = upon ?? .empty(offer.channel, now: now())
            if let after = offering(release, version, upon: before) { return (after, .publish) }
            return options.signing.renews(before, now: now())
                ? (before.renewed(now: now()), .resign) : nil
        }
        var (commit, after): (OriginCommit, OriginState)
        do throws(StoreError) {
            (commit, after) = try committing(
                to: offer.channel, seen, upon: state, log, source, change)
        } catch {
            guard packing.giveWay(to: error) else { throw error }
            (commit, after) = try committing(
                to: offer.channel, seen, upon: state, log, source, change)
        }
        if options.verifiesObjects, commit.pointer.offersOlder(version) {
            options.notice(Publisher.mending(version, offer.channel))
        }
        making.close()
        // The release is offered; frames that are not noted are made again.
        try? packing.note(after)
        return commit.with(upload, facts, packing, upon: upon)
    }

    /// Puts a release at the head or, if it is older and only verified, in its position; `nil` if nothing changes.
    func offering(
        _ release: ChannelRelease, _ version: PublishedVersion, upon before: ChannelPointer
    ) -> ChannelPointer? {
        guard options.verifiesObjects, before.offersOlder(version) else {
            let base = options.signing.adopts ? before.unbarring(version, options.notice) : before
            return base.offering(
                release, keepingDeliveries: options.packs.keptReleaseCount, now: now())
        }
        return before.mending(release, now: now())
    }

    private func place(
        _ offer: ReleaseOffer, _ upload: ReleaseUpload, _ packing: ReleasePacking,
        _ facts: FactsUpload, _ log: OriginLog, _ source: ReleaseSource, in state: inout OriginState
    ) throws(StoreError) -> ChannelRelease {
        while true {
            let version = try upload.place(in: &state)
            let number = state.number
            var release = offer.release(.version(version))
            release.delivery = try packing.place(in: &state)
            if try announces(of: offer.channel, state, log, source) {
                release.facts = try facts.place(in: &state)
            }
            // While the other files were sent, the first may have become useless.
            guard state.number == number else { continue }
            return release
        }
    }

    /// Takes a version out of a channel; its files stay until a prune.
    /// - Throws: `.noOrigin`; `.notOffered`, after the channel's pointer was updated, so that a withdrawal whose
    ///   pointer could not be written can be repeated; as ``publish(_:of:as:_:)``.
    package func withdraw(
        _ version: VersionName, from channel: ChannelName = .stable, toEmbedded: Bool = false
    ) throws(StoreError) -> OriginCommit {
        try advising { () throws(StoreError) in
            let log = makeLog()
            let notOffered = StoreError(
                .notOffered,
                "channel \(channel) of \(storage.place) does not offer version \(version)")
            let (state, seen) = try open(channel, log, isUrgent: true) {
                (state) throws(StoreError) in
                // With a log, a repeated withdrawal writes the pointer first.
                guard !state.hasLog else { return }
                guard let before = state.pointers[channel] else {
                    throw .noChannel(channel, in: storage.place)
                }
                guard before.withdrawing(version, now: now()) != nil else { throw notOffered }
                try checkSigning(channel, upon: state, log)
            }
            let finished = try finishing(channel, upon: state, log)
            if finished.hasFinished(withdrawing: version, from: channel, toEmbedded, upon: state) {
                return try finish(channel, seen, finished, log, isUnchanged: false)
            }
            var others: [String] = []
            let commit = try committing(to: channel, seen, upon: finished, log, isFinished: true) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                guard let before = state.pointers[channel] else {
                    throw .noChannel(channel, in: storage.place)
                }
                guard var after = before.withdrawing(version, now: now()) else {
                    try CopyWriting(log, pause).write(channel, of: state, seen: seen)
                    try storage.barrier()
                    throw notOffered
                }
                let left = Set(after.releases.compactMap(\.version?.name) + [version])
                others = before.releases.compactMap(\.version?.name).filter { !left.contains($0) }
                    .map(\.description)
                if toEmbedded {
                    let release = ReleaseOffer(channel: channel).release(.embedded)
                    after = after.offering(release, now: now()) ?? after
                }
                return (after, .withdraw)
            }.commit
            if !others.isEmpty {
                options.notice(
                    "the same files are withdrawn as version \(others.joined(separator: ", ")), too"
                )
            }
            return commit
        }
    }

    /// The pointers of all channels in the log.
    /// - Throws: `.noOrigin`; what reading throws.
    package func pointers() throws(StoreError) -> [ChannelName: ChannelPointer] {
        try open(.stable, makeLog()).state.pointers
    }

    // MARK: Commits

    /// Commits what `change` makes of the newest state, repeatedly until nobody else is faster.
    ///
    /// Each attempt signs the pointer, which names its entry, and announces to other systems' clients anew.
    /// - Parameters:
    ///   - seen: the channel's pointer as devices see it; `nil` to read it.
    ///   - source: what is known of files for these clients already.
    ///   - isSealed: whether `change` signs the pointer.
    ///   - isFinished: whether nothing is left that an earlier command has signed, or this is it.
    ///   - change: the pointer after the commit; `nil` for no change. It may continue from a newer state.
    func committing(
        to channel: ChannelName, _ seen: LogCopy.Seen? = nil, upon state: OriginState,
        _ log: OriginLog, _ source: ReleaseSource? = nil, isSealed: Bool = false,
        isFinished: Bool = false,
        _ change: (inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)?
    ) throws(StoreError) -> (commit: OriginCommit, state: OriginState) {
        let source = source ?? ReleaseSource(SeenFiles(in: storage))
        let seen = if let seen { seen } else { try LogCopy.pointer(channel).read(from: storage) }
        try checkEnd(of: log, state, channel, seen)
        if !options.signing.isSigning {
            try LogCopy.checkSigned(seen, channel, by: state, log)
        }
        var state = isFinished ? state : try finishing(channel, upon: state, log)
        // What could not be finished has been told.
        let isTold = try options.signing.unfinished(at: storage.identity, upon: state.pointers)
            .contains { $0.channel == channel }
        var tryCount = 0
        while true {
            if options.isInterrupted() { throw .publishingInterrupted }
            var changed: (ChannelPointer, LogEntry.Kind)?
            do throws(StoreError) {
                if !isSealed { state = try trusted(state, channel, log) }
                changed = try change(&state)
                changed?.0.log = state.number + 1
                if !isSealed, let pointer = changed?.0 {
                    changed?.0 = try sign(pointer, upon: state, isTold: isTold || tryCount > 0)
                }
            } catch {
                state = try newer(than: state, log, refused: error)
                try wait(behindOthers: &tryCount)
                continue
            }
            let number = state.number + 1
            var entry = try LogEntry(after: state, changed?.1 ?? .publish, now: now())
            if let pointer = changed?.0 {
                entry.channels[channel] = number
                entry.pointers[channel] = pointer
            }
            if !isSealed {
                try restore(besides: changed == nil ? nil : channel, upon: state, in: &entry)
            }
            try announce(of: channel, upon: state, log, source, &entry)
            guard !entry.pointers.isEmpty || !entry.rows.isEmpty else {
                return (try finish(channel, seen, state, log, isUnchanged: true), state)
            }
            if let newer = try commit(entry, upon: state, log) {
                state = newer
                let restored = entry.pointers.keys.filter { $0 != channel }
                writeCopies(of: state, log, restored)
                return (try finish(channel, seen, state, log, isUnchanged: changed == nil), state)
            }
            try wait(behindOthers: &tryCount)
            state = try self.state(of: log, from: number)
        }
    }

    /// Tries to write the entry that follows a state.
    /// - Returns: the state afterwards; `nil` if somebody else was faster.
    func commit(
        _ entry: LogEntry, upon state: OriginState, _ log: OriginLog,
        by carryOut: (LogCommit) throws(StoreError) -> Bool = { (commit) throws(StoreError) in
            try commit.carryOut()
        }
    ) throws(StoreError) -> OriginState? {
        for pointer in entry.pointers.values {
            try LogCommit.checkSpace(for: pointer, upon: state, log)
        }
        let commit = try LogCommit(entry, state.number + 1, after: state.entry, log, pause)
        for pointer in entry.pointers.values { try prepare(pointer, upon: state) }
        guard try carryOut(commit) else { return nil }
        if entry.kind == .prune || !entry.rows.isEmpty || !entry.configurations.isEmpty {
            log.note(entry, state.number + 1)
        }
        for pointer in entry.pointers.values { signed(pointer, upon: state) }
        return OriginState(entry, after: state)
    }

    /// Waits because somebody else was faster.
    /// - Parameter tryCount: how often that happened; grows by one.
    /// - Throws: `.network` if it happened more often than others can have published.
    func wait(behindOthers tryCount: inout Int) throws(StoreError) {
        tryCount += 1
        guard tryCount <= 1_000 else {
            throw StoreError(
                .network,
                "\(tryCount) times somebody else was faster to write the next entry of the log in \(storage.place): "
                    + "nothing is changed; repeat the command when less is published")
        }
        pause(RetryPolicy.log.milliseconds(failureCount: tryCount))
    }

    /// Corrects the list of the channels' names, for people and pages.
    /// - Throws: errors that concern more than the list and its place.
    private func listChannels(of state: OriginState) throws(StoreError) {
        do throws(StoreError) {
            try ChannelListCopy(of: state, in: storage).bringUp()
        } catch {
            guard error.code == .outOfSpace || error.isOfPlace else { throw error }
            options.notice(
                "\(OriginLayout.channelList) could not be written, which the next command does: \(error.message)"
            )
        }
    }

    func finish(
        _ channel: ChannelName, _ seen: LogCopy.Seen, _ state: OriginState,
        _ log: OriginLog, isUnchanged: Bool
    ) throws(StoreError) -> OriginCommit {
        let pointer = state.pointers[channel] ?? .empty(channel, now: now())
        var commit = OriginCommit(
            entry: state.number, epoch: state.entry.epoch, pointer: pointer,
            isUnchanged: isUnchanged)
        do throws(StoreError) {
            try advising { () throws(StoreError) in
                try CopyWriting(log, pause).write(channel, of: state, seen: seen)
                try storage.barrier()
            }
        } catch {
            // The commit exists; devices see it after the next command.
            commit.pointerProblem = error
        }
        do throws(StoreError) {
            if isUnchanged, options.signing.isSigning { try putTrustBack(for: pointer) }
        } catch {
            options.notice(
                "a lost version of the trust is not put back, which the next command does: \(error.message)"
            )
        }
        if storage.isOnDisk { try listChannels(of: state) }
        commit.figures = storage.figures
        return commit
    }

    func publication(
        _ described: Publisher.Description, of versions: VersionStore, in channel: ChannelName,
        _ log: OriginLog
    ) -> Publication {
        Publication(
            manifest: described.manifest, version: described.version, channel: channel,
            versions: versions, seen: SeenFiles(in: storage), watch: UploadWatch(log, now: now),
            options: options)
    }
}
