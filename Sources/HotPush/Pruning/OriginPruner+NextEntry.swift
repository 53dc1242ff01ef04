import CASStore
import Storage

// What a prune has to say to the log.
extension OriginPruner {
    /// The entry that trims, advances `kept`, begins an epoch, or comes after one that trimmed; `nil` if there is
    /// nothing to do.
    func nextEntry(
        after state: OriginState, _ log: OriginLog, _ survey: OriginSurvey, _ keepCount: Int,
        _ grace: Int64, mayAdvance: Bool, _ left: inout Set<ChannelName>
    ) throws(StoreError) -> LogEntry? {
        let number = state.number + 1
        var entry = try LogEntry(after: state, .prune, now: publisher.now())
        var byteCount = 0
        for (channel, pointer) in state.pointers where byteCount < trimmedByteCountMax {
            guard var trimmed = publisher.trimmed(pointer, to: keepCount) else { continue }
            trimmed.log = number
            do throws(StoreError) {
                if pointer.isSigned { trimmed = try publisher.seal(trimmed, upon: state) }
            } catch {
                // Anybody may have written a channel: it keeps what it names, and nobody from pruning.
                guard error.code == .untrusted, try publisher.hasSigned(in: state, log),
                    try publisher.state(of: log, from: state.number).number == state.number
                else { throw error }
                if left.insert(channel).inserted {
                    publisher.options.notice(
                        "channel \(channel) is not trimmed, and what it offers stays: \(error.message)"
                    )
                }
                continue
            }
            byteCount += trimmed.serialized().count
            entry.pointers[channel] = trimmed
            entry.channels[channel] = number
        }
        if mayAdvance, let kept = try keptFrom(state, log, grace) { entry.keptFrom = kept }
        let live = try survey.live(keptFrom: entry.keptFrom, upTo: state)
        // What is still to be found unneeded under the two newest epochs can only be deleted in a later one.
        let garbageEpochMax = state.entry.garbageEpochMax(in: storage)
        if survey.unneeded(beside: live).contains(where: { $0.key.epoch > garbageEpochMax }) {
            entry.epoch += 1
        }
        // What an entry without pointers does not offer counts as read by no device since.
        if entry.pointers.isEmpty, !mayAdvance { return nil }
        let prunedAt = state.entry.prunedAt
        let comesAfterTrimming =
            prunedAt > 0 ? try !log.pastEntry(prunedAt).pointers.isEmpty : false
        var isMark = try needsMark(state, log, keptFrom: entry.keptFrom)
        if !isMark, prunedAt > 0, storage.isOnDisk {
            isMark = try age(of: prunedAt, state, log) == nil
        }
        guard
            !entry.pointers.isEmpty || entry.keptFrom != state.entry.keptFrom
                || entry.epoch != state.entry.epoch || comesAfterTrimming || isMark
        else { return nil }
        entry.prunedAt = number
        return entry
    }

    /// Whether something is offered no more that no earlier prune has seen so: the grace for it begins with a prune.
    private func needsMark(
        _ state: OriginState, _ log: OriginLog, keptFrom: Int64
    ) throws(StoreError) -> Bool {
        let newest = max(state.entry.prunedAt, keptFrom)
        let since = try log.liveReleases(keptFrom: newest, upTo: state)
        let now = try log.liveReleases(keptFrom: state.number, upTo: state)
        return Set(since) != Set(now)
    }

    /// The newest prune that is older than the grace, by the server's clock, and came after all copies were new.
    private func keptFrom(
        _ state: OriginState, _ log: OriginLog, _ grace: Int64
    ) throws(StoreError) -> Int64? {
        let live = try log.liveReleases(keptFrom: state.entry.keptFrom, upTo: state)
        for prune in try log.prunes(after: state.entry.keptFrom, upTo: state) {
            // An entry that would free nothing is none.
            let kept = try log.liveReleases(keptFrom: prune.number, upTo: state)
            guard kept.count < live.count else { return nil }
            if !prune.hasTrimmed, let age = try age(of: prune.number, state, log), age >= grace {
                return prune.number
            }
        }
        return nil
    }

    /// How many seconds ago a prune was, by the server's clock; by this machine's, where there is no other.
    ///
    /// - Returns: `nil` where nobody can tell: that clock has been put back since, or was behind then and is right again.
    private func age(
        of number: Int64, _ state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> Int64? {
        guard storage.isOnDisk else {
            return try storage.head(OriginLayout.logEntry(number))
                .map { $0.answeredAt - $0.modifiedAt }
        }
        let (now, then) = (publisher.now(), try log.pastEntry(number).createdAt)
        var latest = then
        for earlier in max(state.entry.keptFrom, 1)..<max(number, state.entry.keptFrom, 1) {
            // What is ahead of the present says nothing of the clock of that prune, and no more does what is passed over.
            if let time = try log.reading(earlier)?.entry?.createdAt, time <= now {
                latest = max(latest, time)
            }
        }
        return then > now || then < latest ? nil : now - then
    }
}

// What devices read before, and while, somebody prunes.
extension OriginPruner {
    /// What is known of the pointers' copies.
    enum CopiesState {
        case unknown
        /// No device reads an older pointer than the state's.
        case areNew
        /// One lagged behind the last prune, and a plain write of an old pointer may come back; or one is nobody's.
        case wereBehind
    }

    /// Brings the pointers up to the log's.
    ///
    /// What those offer that stay as they are, or are newer, is held.
    func repairPointers(
        of state: OriginState, _ log: OriginLog, _ survey: OriginSurvey, isDryRun: Bool
    ) throws(StoreError) -> CopiesState {
        guard !isDryRun else {
            try survey.holdCopies(beside: state)
            return .unknown
        }
        for channel in survey.pointerFiles.compactMap(OriginLayout.channel(ofPointer:))
        where state.pointers[channel] == nil {
            survey.hold(try LogCopy.pointer(channel).read(from: storage).pointer)
        }
        let condition = try log.pastEntry(1).pointerCondition ?? .none
        let prunedAt = state.entry.prunedAt
        let places = prunedAt > 0 ? try log.pastEntry(prunedAt).channels : [:]
        var (isBehind, areNew) = (false, true)
        for channel in state.pointers.keys.sorted() {
            let seen = try LogCopy.pointer(channel).read(from: storage)
            try publisher.checkEnd(of: log, state, channel, seen)
            if let place = places[channel], (seen.pointer?.log ?? 1) < place { isBehind = true }
            if try !write(channel, of: state, seen, log, survey) { areNew = false }
        }
        return !areNew || condition == .none && isBehind ? .wereBehind : .areNew
    }

    /// Brings a pointer up to the log's.
    /// - Returns: whether it is; else somebody else's stays there, and devices may read it.
    func write(
        _ channel: ChannelName, of state: OriginState, _ seen: LogCopy.Seen?, _ log: OriginLog,
        _ survey: OriginSurvey
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try CopyWriting(log, publisher.pause).write(channel, of: state, seen: seen)
            // A newer one stays.
            if seen?.log ?? 0 > state.pointers[channel]?.log ?? 1 { survey.hold(seen?.pointer) }
            return true
        } catch {
            guard error.code == .damagedOrigin else { throw error }
            publisher.options.notice("what channel \(channel) offers stays: \(error.message)")
            survey.hold(try LogCopy.pointer(channel).read(from: storage).pointer)
            return false
        }
    }
}

extension OriginPruner {
    /// So many seconds after it was begun an upload counts as left: a week, as in the rule of docs/buckets.md.
    static let uploadAgeMax: Int64 = 7 * 86_400

    /// Ends what was left of files that nobody sends any more.
    ///
    /// - Returns: how many there were.
    func endUploads(isDryRun: Bool) throws(StoreError) -> Int {
        let open: OpenUploads?
        do throws(StoreError) {
            open = try storage.openUploads()
        } catch {
            // A prune needs no such right; a rule of the origin may do the same.
            guard error.code == .accessDenied else { throw error }
            publisher.options.notice(
                "uploads in parts that were left cannot be seen: \(error.message)")
            return 0
        }
        guard let open else { return 0 }
        let left = open.uploads.filter {
            OriginKey(path: $0.key) != nil && open.answeredAt - $0.begunAt > Self.uploadAgeMax
        }
        guard !isDryRun else { return left.count }
        for upload in left { try storage.abort(upload) }
        return left.count
    }
}
