import CASStore
import HotPush
import Storage
import VersionTree

// What a command builds upon: the log or, if an older castree has written none, what is there.

extension OriginPublisher {
    /// The log, judged by the keys that sign here.
    /// - Parameter isWary: whether something is to be deleted.
    func makeLog(isWary: Bool = false) -> OriginLog {
        let signing = options.signing
        var rotated: [Int64: Bool] = [:]
        var trusts: ((SignedBytes) throws(StoreError) -> Bool)?
        if signing.isSigning, !signing.adopts {
            var origin: String??
            trusts = { (content) throws(StoreError) in
                guard try signing.verifies(content, of: nil) else { return false }
                if origin == nil { origin = .some(try signing.originOfPlace(storage)) }
                return try signing.verifies(content, of: origin ?? nil)
            }
        }
        return OriginLog(
            storage, trusts: trusts,
            givesWay: { (pointer, other) throws(StoreError) in
                if signing.knows(other, of: pointer.origin) { return true }
                let version = pointer.trustVersion ?? TrustFile.firstVersion
                if let isRotated = rotated[version] { return isRotated }
                // Whoever builds upon it is told by whom the keys were changed.
                let isRotated = try allowing([.untrusted], try isRotated(since: pointer)) ?? true
                rotated[version] = isRotated
                return isRotated
            },
            isWary: isWary, mayUnsign: signing.allowsFewer, notice: options.notice)
    }

    /// The origin's state, and what was found as a channel's pointer; an origin without a log gets one.
    /// - Parameters:
    ///   - channel: the one that the command is about.
    ///   - isCreating: whether to make a missing origin.
    ///   - isUrgent: whether to continue in spite of errors in what was announced to other systems' clients.
    ///   - check: refuses a wrong command, before a log is begun for it.
    /// - Throws: `.noOrigin`; `.damagedOrigin` also for a log that has lost its last entries; what `check` throws.
    func open(
        _ channel: ChannelName, _ log: OriginLog, isCreating: Bool = false, isUrgent: Bool = false,
        checking check: (OriginState) throws(StoreError) -> Void = { (_) throws(StoreError) in }
    ) throws(StoreError) -> (state: OriginState, seen: LogCopy.Seen) {
        let copy = LogCopy.pointer(channel)
        let seen = try copy.read(from: storage)
        if let state = try logged(channel, seen, log) {
            if options.takesOver {
                options.notice(
                    "the log of \(storage.place) exists and continues: nothing is taken over (\(OriginLog.wayOut))"
                )
            }
            try check(state)
            return (state, seen)
        }
        if !isCreating {
            let traces = try OriginTraces(of: storage)
            // Somebody may just have made it.
            if let state = try log.state(from: 0) {
                try check(state)
                return (state, seen)
            }
            guard storage.isOnDisk, seen.pointer?.log == nil, !traces.channels.isEmpty else {
                throw traces.missingLog(namedBy: seen.pointer?.log)
            }
        }
        let state = try GenesisEntry(self, log).create(seen, isUrgent: isUrgent, checking: check)
        // Somebody else may have been faster.
        try check(state)
        // A pointer that named an entry of a lost log was written again.
        return (state, seen.pointer?.log == nil ? seen : try copy.read(from: storage))
    }

    /// The origin's state; `nil` if it has no log.
    /// - Throws: also `.damagedOrigin` if the log has lost its last entries.
    func logged(
        _ channel: ChannelName, _ seen: LogCopy.Seen, _ log: OriginLog
    ) throws(StoreError) -> OriginState? {
        guard let state = try log.newestState(from: seen.pointer?.log ?? 0) else { return nil }
        // In a bucket, where each look costs, a writer looks only at its channel's pointer.
        if storage.isOnDisk { try checkEnd(of: log, state) }
        try checkEnd(of: log, state, channel, seen)
        return state
    }

    /// Refuses a log that has lost its last entries, as any pointer shows, even of a channel unknown to the log.
    func checkEnd(of log: OriginLog, _ state: OriginState) throws(StoreError) {
        try storage.listAll(OriginLayout.channels + "/") { (page) throws(StoreError) in
            for channel in page.files.compactMap({ OriginLayout.channel(ofPointer: $0.key) }) {
                try checkEnd(of: log, state, channel, LogCopy.pointer(channel).read(from: storage))
            }
            return true
        }
    }

    /// Refuses a log that has lost the entry which a pointer names, or later ones, as entries precede their pointers.
    ///
    /// What the lost ones say would be revoked, silently once others get their numbers.
    func checkEnd(
        of log: OriginLog, _ state: OriginState, _ channel: ChannelName, _ seen: LogCopy.Seen
    ) throws(StoreError) {
        let copy = LogCopy.pointer(channel)
        func lost(in seen: LogCopy.Seen) throws(StoreError) -> Int64? {
            guard let pointer = seen.pointer, let named = pointer.log, named > state.number,
                try !log.has(named),
                // With keys that can tell, a stranger's pointer does not prevent publishing.
                try log.trusts?(pointer.signedContent) ?? true,
                // In an interrupted take-over, entry 1 offers what the pointer of an older log does.
                try log.reading(1)?.entry?.pointers[channel]?.takesOver(pointer) != true
            else { return nil }
            return named
        }
        // Somebody may have written it again since.
        guard try lost(in: seen) != nil, let named = try lost(in: copy.read(from: storage))
        else { return }
        throw log.lacks(named, namedBy: copy.key)
    }

    func state(of log: OriginLog, from hint: Int64) throws(StoreError) -> OriginState {
        guard let state = try log.state(from: hint) else {
            throw StoreError(.network, "the log in \(storage.place) cannot be read any more")
        }
        return state
    }

    /// Commits what an interrupted command has signed; see ``SignedSequences``.
    ///
    /// Devices may have seen it, whatever the log says now, since anybody who can write to the origin can delete an
    /// entry. Everything that it names was stored before it was signed. A release that only it offers, and whose files
    /// are gone or may be deleted, is left to others: then the commit never was.
    /// - Parameter only: the channel; `nil` for all of them.
    /// - Returns: the state afterwards.
    /// - Throws: `.untrusted` if one of its signers does not sign now; what committing throws.
    func finishing(
        _ only: ChannelName?, upon state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> OriginState {
        let (signing, place) = (options.signing, storage.identity)
        guard signing.isSigning else { return state }
        var state = state
        for channel in try signing.unfinished(at: place, upon: state.pointers).map(\.channel)
        where only == nil || only == channel {
            // No prune may delete what is found there before it is committed.
            let lock = try OriginLock(storage, options, .sharing)
            defer { withExtendedLifetime(lock) {} }
            state = try committing(
                to: channel, upon: state, log, isSealed: true, isFinished: true
            ) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                let unfinished = try signing.unfinished(at: place, upon: state.pointers)
                guard let pointer = unfinished.first(where: { $0.channel == channel }) else {
                    return nil
                }
                return try finished(pointer, upon: state).map { ($0, .resign) }
            }.state
        }
        return state
    }

    /// The unfinished pointer for the next entry: its signatures name the entry for which they were made.
    private func finished(
        _ pointer: ChannelPointer, upon state: OriginState
    ) throws(StoreError) -> ChannelPointer? {
        // By the keys that have signed it: in a rotation others sign, too.
        var signing = options.signing
        func said(_ rest: String) -> String {
            PointerSigning.unfinished(pointer, at: storage.identity, rest)
        }
        let ids = Set(pointer.signatures.map(\.key))
        signing.signers = signing.signers.filter { ids.contains($0.key.id) }
        let offered = Set(state.pointers.values.flatMap(\.liveReleases))
        for release in pointer.liveReleases where !offered.contains(release) {
            guard try !mayBeOffered(release, signedAt: pointer.log ?? 0, upon: state) else {
                continue
            }
            options.notice(
                said(
                    "somebody has pruned since, or put an older state back, so the release is not offered; if it is "
                        + "wanted, publish it again"))
            return nil
        }
        guard signing.signers.count == ids.count, let origin = pointer.origin else {
            throw .untrusted(
                said(
                    "it cannot be finished, since not all of "
                        + "\(pointer.signatures.map(\.key).joined(separator: ", ")) sign now; look at what is offered (castree "
                        + "channels), build upon that with castree resign --adopt, and repeat the command that was cut short"
                ))
        }
        options.notice(said("devices may have seen it, so it is written first"))
        var next = pointer.renewed(now: now())
        try signing.raise(&next, in: origin)
        next.log = state.number + 1
        return try signing.sign(next, now: now())
    }

    /// Whether a release that no entry offers has all of its files, and keeps them; see rule U of docs/buckets.md.
    /// - Parameter number: the entry that was to offer it.
    private func mayBeOffered(
        _ release: LiveRelease, signedAt number: Int64, upon state: OriginState
    ) throws(StoreError) -> Bool {
        // A prune in the log may still delete some, and nobody reads an entry with files of a later epoch.
        guard state.entry.prunedAt < number, release.version.epoch <= state.entry.epoch else {
            return false
        }
        let files = ReleaseFiles(release, storage, nil)
        // This reads the documents, of which some have no known size.
        let named = try allowing(
            { ReleaseFiles.saysReleaseIsBad($0) || $0.saysFileIsUnreadable },
            try files.contents() + files.packed() + files.announced())
        guard let named else { return false }
        let sized = named.compactMap { file in
            file.byteCount.map { SizedKey(key: file.key, byteCount: $0) }
        }
        return try storage.missing(of: sized, options).isEmpty
    }
}

extension OriginState {
    /// Whether the unfinished commit was this very withdrawal, so that no other is needed.
    /// - Parameter before: the state before it was finished.
    func hasFinished(
        withdrawing version: VersionName, from channel: ChannelName, _ toEmbedded: Bool,
        upon before: OriginState
    ) -> Bool {
        func offers(_ pointer: ChannelPointer) -> Bool {
            pointer.releases.contains { $0.version?.name == version }
        }
        guard number > before.number, let old = before.pointers[channel],
            let new = pointers[channel]
        else { return false }
        return offers(old) && !offers(new)
            && (!toEmbedded || new.releases.first?.target == .embedded)
    }
}

extension OriginPublisher {
    /// Advises what to do on a full disk, where a system call's own advice is about stores.
    ///
    /// After a failed publication, it also says what the channel offers.
    /// - Parameter remedy: how to free space.
    func advising<R>(
        on channel: ChannelName? = nil, _ version: String = "",
        by remedy: String = "castree prune deletes files that no channel offers",
        _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        do throws(StoreError) {
            return try body()
        } catch {
            if let work = storage.work, error.code == .permission { throw work.explained(error) }
            // An error after a vain request for space has its own advice.
            guard error.isDiskFull, let work = storage.work else { throw error }
            let failure = error.advising("").message
            let offers = channel.map { "channel \($0) offers what it did before; " } ?? ""
            throw StoreError(
                .outOfSpace,
                "\(failure); \(offers)free space in \(printable(work.place)) (\(remedy)), then repeat the "
                    + "command", cause: error.cause)
        }
    }
}

// Names that conflict: a device refuses one of two versions whose names differ by case, or whose contents differ under one name.

extension WithdrawnVersion {
    /// Whether a device that has it would refuse a version.
    fileprivate func bars(_ version: PublishedVersion) -> Bool {
        let (mine, other) = (name.description, version.name.description)
        return mine.lowercased() == other.lowercased()
            && (mine != other || content != version.content)
    }
}

extension ChannelPointer {
    /// The pointer without withdrawn versions that bar this one; whoever adopts it has looked.
    func unbarring(_ version: PublishedVersion, _ notice: (String) -> Void) -> ChannelPointer {
        guard withdrawn.contains(where: { $0.bars(version) }) else { return self }
        var next = self
        next.withdrawn = []
        let names = withdrawn.map(\.name.description).joined(separator: ", ")
        notice("channel \(channel) says no more that these were withdrawn: \(names)")
        return next
    }
}

extension OriginPublisher {
    /// The state upon which a version is published, if no name conflicts: with two, a device refuses one of them.
    ///
    /// Anybody can write names into a list of offered or withdrawn versions, so only those count that the publisher's
    /// keys have signed, or that it adopts with the channel. An `--adopt` required by such a name applies to what the
    /// keys have signed last, if that has it.
    /// - Parameter isSaid: as of ``trusted(_:_:_:isSaid:isRotating:)``.
    /// - Throws: `.versionExists`.
    func base(
        for version: PublishedVersion, in channel: ChannelName, _ state: OriginState,
        _ log: OriginLog, isSaid: Bool = true
    ) throws(StoreError) -> OriginState {
        var base = try trusted(state, channel, log, isSaid: isSaid)
        if options.signing.isSigning, options.signing.adopts {
            var other = self
            other.options.signing.adopts = false
            // Where others have changed the keys since, what these have signed last counts no more.
            let known = try allowing(
                [.untrusted], try other.trusted(state, channel, other.makeLog(), isSaid: false))
            if let known, try other.objection(to: version, in: channel, known) != nil {
                base = known
            }
        }
        if let objection = try objection(to: version, in: channel, base) { throw objection }
        return base
    }

    /// The error about a name that conflicts with a version.
    private func objection(
        to version: PublishedVersion, in channel: ChannelName, _ state: OriginState
    ) throws(StoreError) -> StoreError? {
        let signing = options.signing
        for pointer in state.pointers.values.sorted(by: { $0.channel < $1.channel }) {
            let offered = pointer.releases.compactMap(\.version)
                .map { WithdrawnVersion(name: $0.name, content: $0.content) }
            let other = offered.first { $0.bars(version) }
            let withdrawn = signing.adopts ? nil : pointer.withdrawn.first { $0.bars(version) }
            guard let name = (other ?? withdrawn)?.name else { continue }
            let origin = try signing.origin(at: storage, saidBy: state.pointers.values)
            let isOwn = !signing.isSigning || signing.knows(pointer, of: origin)
            guard isOwn || signing.adopts && pointer.channel == channel else { continue }
            let advice =
                "; no key that is known here has signed that: if it is not yours, leave --adopt out"
            return StoreError(
                .versionExists,
                other != nil
                    ? "channel \(pointer.channel) offers a version \(name) with other content; "
                        + "choose another name: devices that have it would rename or refuse this one\(isOwn ? "" : advice)"
                    : "a version \(name) with other content was withdrawn from channel \(pointer.channel), and devices "
                        + "that have it would rename or refuse this one; choose another name or, if nobody has withdrawn that (castree "
                        + "channels lists it), say --adopt")
        }
        return nil
    }
}
