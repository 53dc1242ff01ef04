package import CASStore
package import HotPush
import Storage
import VersionTree

// Signatures in an origin: of an entry of the log, only the pointer is signed.

extension OriginPublisher {
    /// Refuses an untrusted state (`.untrusted`) before anything is sent.
    func checkSigning(
        _ channel: ChannelName, upon state: OriginState, _ log: OriginLog
    ) throws(StoreError) {
        var state = state
        while true {
            do throws(StoreError) {
                let pointers = try trusted(state, channel, log, isSaid: false).pointers
                return try options.signing.check(channel, upon: pointers, in: storage)
            } catch {
                state = try newer(than: state, log, refused: error)
            }
        }
    }

    /// The state after an untrusted one, as the keys may remember a newer one than was read from the log.
    /// - Throws: `refusal` if nobody has written to the log since, or it has another reason.
    func newer(
        than state: OriginState, _ log: OriginLog, refused refusal: StoreError
    ) throws(StoreError) -> OriginState {
        guard refusal.code == .untrusted, state.hasLog else { throw refusal }
        let newer = try self.state(of: log, from: state.number)
        guard newer.number > state.number else { throw refusal }
        return newer
    }

    /// Signs a pointer for the entry that follows a state.
    /// - Parameter isTold: whether it is known why one that was signed is not there: somebody else was faster.
    func sign(
        _ pointer: ChannelPointer, upon state: OriginState, isTold: Bool = false
    ) throws(StoreError) -> ChannelPointer {
        try options.signing.sign(
            pointer, upon: state.pointers, in: storage, now: now(), isTold: isTold,
            notice: options.notice)
    }

    /// Signs again, in an entry, what others have replaced; what cannot be signed now waits for a command on its channel.
    func restore(
        besides channel: ChannelName?, upon state: OriginState, in entry: inout LogEntry
    ) throws(StoreError) {
        let number = state.number + 1
        var byteCount = 0
        for other in state.overruled.keys.sorted()
        where other != channel && byteCount < ChannelPointer.byteCountMax / 2 {
            guard var pointer = state.pointers[other]?.renewed(now: now()) else { continue }
            pointer.log = number
            let signed = try allowing([.untrusted, .badPointer], try sign(pointer, upon: state))
            guard let signed else { continue }
            byteCount += signed.serialized().count
            entry.pointers[other] = signed
            entry.channels[other] = number
        }
    }

    /// Notes beside the keys what an entry is about to say; see ``SignedSequences``.
    /// - Throws: why it cannot be noted, in which case nothing may be sent.
    func prepare(_ pointer: ChannelPointer, upon before: OriginState) throws(StoreError) {
        try putTrustBack(for: pointer)
        try options.signing.prepare(
            pointer, upon: before.pointers[pointer.channel], at: storage.identity,
            options.waiting)
    }

    /// Restores trust files that the keys have signed by and the origin has lost.
    ///
    /// Without them, devices that are behind cannot follow, and the others obey no older ones.
    func putTrustBack(for pointer: ChannelPointer) throws(StoreError) {
        guard let origin = pointer.origin, let newest = pointer.trustVersion else { return }
        let files = try options.signing.trusts(of: origin).filter { $0.version <= newest }
        // An adopted origin may have lost any; otherwise one look must do.
        for file in options.signing.adopts ? files : files.suffix(1) {
            // Even a stranger's file is replaced: the pointers that name it are signed by this one.
            guard try TrustFile.ifSound(try storage.trust(file.version)) != file else { continue }
            try write(file) { _ in true }
            options.notice(
                "\(OriginLayout.trust(file.version)), by which a key that signs now has signed, was not in "
                    + "\(storage.identity), and is put back")
        }
    }

    /// Remembers what was signed, and writes the id of a newly signed origin into its marker.
    func signed(_ pointer: ChannelPointer, upon before: OriginState) {
        guard pointer.isSigned, let origin = pointer.origin else { return }
        options.signing.remember(pointer, at: storage.identity, options.waiting) {
            (version) throws(StoreError) in try storage.trust(version)
        }
        guard !before.pointers.values.contains(where: { $0.isSigned && $0.origin == origin })
        else { return }
        do throws(StoreError) {
            _ = try storage.put(
                OriginLayout.marker, StorageBody(OriginMarker.serialized(of: origin)), .pointer)
        } catch {
            // The marker's id is for people; devices read the pointer.
            options.notice("\(OriginLayout.marker) could not be written: \(error.message)")
        }
    }

    /// The pointer with fewer releases; `nil` if that changes nothing, or it is signed and nobody signs now.
    func trimmed(_ pointer: ChannelPointer, to count: Int) -> ChannelPointer? {
        let signing = options.signing
        guard !pointer.isSigned || signing.isSigning || signing.allowsFewer else { return nil }
        return pointer.trimmed(to: count, now: now())
    }

    /// The state with a channel's newest trusted pointer.
    ///
    /// Entries are never removed, so a stranger's must not prevent publishing. Only pointers of entries from
    /// ``LogEntry/keptFrom`` on qualify, as files of older ones may be gone, and only of keys not rotated since.
    /// - Parameters:
    ///   - isSaid: whether to report that it is not the newest pointer.
    ///   - isRotating: whether this command changes the keys.
    /// - Returns: the unchanged state if there is no such pointer; building upon it is refused.
    /// - Throws: as ``isRotated(since:)``.
    func trusted(
        _ state: OriginState, _ channel: ChannelName, _ log: OriginLog, isSaid: Bool = true,
        isRotating: Bool = false
    ) throws(StoreError) -> OriginState {
        let signing = options.signing
        guard signing.isSigning, !signing.adopts, let newest = state.pointers[channel] else {
            return state
        }
        let origin = try signing.origin(at: storage, saidBy: state.pointers.values)
        if try signing.verifies(newest.signedContent, of: origin) { return state }
        let (last, first) = (state.entry.channels[channel] ?? 0, state.entry.keptFrom)
        let isKnown: ((ChannelPointer) -> Bool)? =
            isRotating ? { signing.knows($0, of: origin) } : nil
        var place = last
        while place > first {
            let before = try log.signedEntry(in: first..<place, by: isKnown)
            guard let earlier = before.channels[channel],
                let pointer = try log.pastEntry(earlier).pointers[channel]
            else { return state }
            place = earlier
            // Live by rule G only if an entry from `kept` on still offers it; `before` is one.
            guard
                isRotating
                    ? signing.knows(pointer, of: origin)
                    : try signing.verifies(pointer.signedContent, of: origin)
            else { continue }
            if !isRotating, try isRotated(since: pointer) { return state }
            if isSaid { log.say(overruling: channel, in: last, by: earlier) }
            var pointers = state.pointers
            pointers[channel] = pointer
            return state.with(pointers)
        }
        return state
    }

    /// Whether the keys here have signed any channel, whatever others have written over it.
    func hasSigned(in state: OriginState, _ log: OriginLog) throws(StoreError) -> Bool {
        for channel in state.pointers.keys {
            let known = try allowing(
                [.untrusted], try trusted(state, channel, log, isSaid: false))?.pointers[channel]
            if let known, try options.signing.verifies(known.signedContent, of: nil) {
                return true
            }
        }
        return false
    }

    /// Whether keys were changed after a pointer was signed, by a file that only its own keys can have made.
    /// - Throws: `.untrusted` if keys that counted beside its own have made the file, perhaps to remove these.
    func isRotated(since pointer: ChannelPointer) throws(StoreError) -> Bool {
        let version = pointer.trustVersion ?? TrustFile.firstVersion
        guard let origin = pointer.origin,
            let next = try TrustFile.ifSound(try storage.trust(version + 1))
        else { return false }
        if try options.signing.hasMade(next, of: origin) { return true }
        // What a key remembers counts, whatever is in its place.
        var known = try options.signing.trusts(of: origin).first { $0.version == version }
        if known == nil { known = try TrustFile.ifSound(try storage.trust(version)) }
        guard let last = known, last.counts(pointer),
            next.isFollowing(last.trusted, last.version, of: origin)
        else { return false }
        let ids = next.trusted.keys.map(\.id).joined(separator: ", ")
        throw .untrusted(
            "the keys of \(storage.place) were changed: \(OriginLayout.trust(next.version)) follows version \(version), by "
                + "which the keys that sign now have signed channel \(pointer.channel), and devices obey nothing older; sign by "
                + "the keys that count now (\(next.trusted.threshold) of \(ids) in version \(next.version)), and name with "
                + "--trust those that have signed since; if nobody of you changed the keys, a key of version \(version) is "
                + "stolen")
    }

    // MARK: Signing anew

    /// Signs unchanged pointers anew, in an entry for each.
    package func resign(_ only: ChannelName? = nil) throws(StoreError) -> [OriginCommit] {
        try options.signing.requireSigner()
        let log = makeLog()
        var refused: [ChannelName: StoreError] = [:]
        let state = try open(only ?? .stable, log) { (state) throws(StoreError) in
            if let only, state.pointers[only] == nil {
                throw .noChannel(only, in: storage.place)
            }
            refused = [:]
            for channel in only.map({ [$0] }) ?? state.pointers.keys.sorted() {
                do throws(StoreError) {
                    try checkSigning(channel, upon: state, log)
                } catch {
                    guard error.code == .untrusted else { throw error }
                    refused[channel] = error
                    continue
                }
                let known = try trusted(state, channel, log, isSaid: false).pointers[channel]
                _ = try known.map { (pointer) throws(StoreError) in
                    try options.signing.end(of: pointer, now: now())
                }
            }
            if let first = refused.min(by: { $0.key < $1.key })?.value,
                refused.count == (only == nil ? state.pointers.count : 1)
            {
                throw first
            }
        }.state
        var commits: [OriginCommit] = []
        for channel in only.map({ [$0] }) ?? state.pointers.keys.sorted()
        where refused[channel] == nil {
            let newest = try self.state(of: log, from: state.number)
            let (commit, _) = try committing(to: channel, upon: newest, log) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                state.pointers[channel].map { ($0.renewed(now: now()), .resign) }
            }
            commits.append(commit)
        }
        // Foreign channels must not prevent others from being signed in time.
        if let (channel, error) = refused.min(by: { $0.key < $1.key }) {
            // The pointers to look at must be visible.
            writeCopies(of: try self.state(of: log, from: state.number), log)
            let signed = commits.map(\.pointer.channel.description).joined(separator: ", ")
            throw StoreError(
                error.code,
                "\(error.message), with --channel \(channel) (signed anew: \(signed))")
        }
        return commits
    }

    /// Changes the keys and signs every channel by them, in an entry for each.
    package func rotate(
        _ rotation: TrustRotation
    ) throws(StoreError) -> (step: TrustRotation.Step, commits: [OriginCommit]) {
        try options.signing.requireSigner()
        guard !options.signing.trusted.isEmpty else {
            var publisher = self
            publisher.options.signing.trusted = try rotation.known(to: options.signing)
            return try publisher.rotate(rotation)
        }
        let log = makeLog()
        let opened = try open(.stable, log) { (state) throws(StoreError) in
            if !state.hasLog {
                _ = try self.step(rotation, upon: known(in: state, log), after: state.number)
            }
        }.state
        let state = try finishing(nil, upon: opened, log)
        // Devices may not see the channels yet that an interrupted call has signed.
        writeCopies(of: state, log)
        var pointers = try known(in: state, log)
        var step = try self.step(rotation, upon: pointers, after: state.number)
        try checkEntries(of: step, upon: state)
        let named = pointers.values.max { $0.trustVersion ?? 1 < $1.trustVersion ?? 1 }
        if let named { try putTrustBack(for: named) }
        if !step.isThere { try write(step.file, insteadOf: { !step.mayBeFollowed($0) }) }
        var commits: [OriginCommit] = []
        for channel in step.channels {
            let newest = try self.state(of: log, from: state.number)
            let (commit, _) = try committing(
                to: channel, upon: newest, log, isSealed: true, isFinished: true
            ) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                guard state.pointers[channel].map(step.file.counts) != true else { return nil }
                pointers[channel] = try known(in: state, log, channel)[channel]
                return try self.step(
                    rotation, upon: pointers, after: state.number, signing: channel
                ).pointers.first.map { ($0, .rotate) }
            }
            pointers[channel] = commit.pointer
            commits.append(commit)
        }
        step.pointers = commits.map(\.pointer)
        return (step, commits)
    }

    /// Checks that readers will accept the entries of a rotation, because a new trust file cannot be revoked.
    /// - Throws: as ``LogCommit/check(_:_:after:of:)``.
    func checkEntries(of step: TrustRotation.Step, upon state: OriginState) throws(StoreError) {
        for var pointer in step.unsigned where state.hasLog {
            var entry = try LogEntry(after: state, .rotate, now: now())
            (pointer.log, pointer.trustVersion) = (state.number + 1, step.file.version)
            entry.channels[pointer.channel] = state.number + 1
            entry.pointers[pointer.channel] = pointer
            try LogCommit.check(entry, state.number + 1, after: state.entry, of: storage)
        }
    }

    /// - Parameter only: the channel whose pointer is signed; `nil` to decide about all.
    private func step(
        _ rotation: TrustRotation, upon pointers: [ChannelName: ChannelPointer],
        after number: Int64, signing only: ChannelName? = nil
    ) throws(StoreError) -> TrustRotation.Step {
        var known: [TrustFile] = []
        if let origin = pointers.values.compactMap(\.origin).min() {
            try options.signing.checkOrigin(origin, of: pointers, storage)
            known = try options.signing.trusts(of: origin)
        }
        return try rotation.step(
            upon: pointers, by: options.signing, in: storage.place, log: number + 1,
            signing: only.map { [$0] } ?? [], now: now()
        ) { (version) throws(StoreError) in
            // What a key remembers counts, whatever is in its place, and is restored.
            if let file = known.first(where: { $0.version == version }) { return file }
            return try storage.trust(version)
        }
    }

    /// The newest pointer of each channel that a known key has signed; strangers' pointers stop no rotation.
    /// - Parameter only: one channel; `nil` for all, and others are reported.
    /// - Returns: all pointers if no key has signed any.
    private func known(
        in state: OriginState, _ log: OriginLog, _ only: ChannelName? = nil
    ) throws(StoreError) -> [ChannelName: ChannelPointer] {
        let signing = options.signing
        let origin = try signing.origin(at: storage, saidBy: state.pointers.values)
        let all = state.pointers.filter { only == nil || $0.key == only }
        var pointers = all
        for (channel, pointer) in all where !signing.knows(pointer, of: origin) {
            let trusted = try trusted(state, channel, log, isSaid: only == nil, isRotating: true)
            pointers[channel] = trusted.pointers[channel].flatMap {
                signing.knows($0, of: origin) ? $0 : nil
            }
        }
        guard !pointers.isEmpty else { return all }
        let others = all.keys.filter { pointers[$0] == nil }.sorted().map(\.description)
        if !others.isEmpty {
            let more = others.count > 10 ? " and \(others.count - 10) more" : ""
            options.notice(
                "no key that is known here has signed these channels for this origin, and they stay as they are: "
                    + "\(others.prefix(10).joined(separator: ", "))\(more); if one is yours, look at what it offers (castree "
                    + "channels), then castree resign --channel NAME --adopt; another team's keys count no more, unless they "
                    + "are named (--trust FILE, or castree trust rotate --add FILE)")
        }
        return pointers
    }

    /// Writes a trust file before any pointer names it; an existing one stays, unless no device follows it.
    /// - Throws: `.untrusted` if another one is there; `.network` if nobody knows.
    func write(
        _ file: TrustFile, insteadOf isNone: (TrustFile) -> Bool = { _ in false }
    ) throws(StoreError) {
        let key = OriginLayout.trust(file.version)
        var reason = "others write it"
        for tryNumber in 1...8 {
            switch try storage.putIfAbsent(key, StorageBody(file.serialized()), .document) {
            case .stored: return
            case .unknown(let why): reason = "\(why)"
            case .unsupported: throw LogCommit.unsuitable(storage)
            case .conditionFailed, .conflict:
                let sound = try TrustFile.ifSound(try storage.trust(file.version))
                guard let there = sound, !isNone(there) else {
                    if try replaceTrust(file, key) { return }
                    break
                }
                guard there == file else {
                    throw .untrusted(
                        "\(key) is in \(storage.place) already, and is another one: somebody else has changed the keys; "
                            + "look at it, then repeat the command")
                }
                return
            }
            pause(RetryPolicy.log.milliseconds(failureCount: tryNumber))
        }
        throw StoreError(
            .network,
            "\(key) in \(storage.place) could not be written (\(reason)); repeat the command")
    }

    /// - Returns: whether the existing file was replaced.
    private func replaceTrust(_ file: TrustFile, _ key: String) throws(StoreError) -> Bool {
        guard let tag = try storage.head(key)?.tag else { return false }
        let spelling =
            storage.isOnDisk ? .quoted : try makeLog().pastEntry(1).pointerCondition?.spelling
        return try storage.putIf(
            key, StorageBody(file.serialized()), .document, matching: tag, spelling ?? .quoted
        ).isStored
    }
}
