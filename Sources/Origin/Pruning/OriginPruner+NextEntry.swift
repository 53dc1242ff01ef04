import CASStore
import HotPush
import Storage

extension OriginPruner {
    /// The entry that trims, advances `kept`, begins an epoch, or follows one that trimmed; `nil` if none is needed.
    func nextEntry(
        after state: OriginState, _ log: OriginLog, _ survey: OriginSurvey, _ keepCount: Int,
        _ grace: Int64, mayAdvance: Bool, _ left: inout Set<ChannelName>
    ) throws(StoreError) -> LogEntry? {
        let number = state.number + 1
        var entry = try LogEntry(after: state, .prune, now: publisher.now())
        var byteCount = 0
        for (channel, pointer) in state.pointers where byteCount < trimmedByteCountMax {
            // What others have replaced is signed again.
            let renewed = state.overruled[channel].map { _ in
                pointer.renewed(now: publisher.now())
            }
            guard var trimmed = publisher.trimmed(pointer, to: keepCount) ?? renewed else {
                continue
            }
            trimmed.log = number
            do throws(StoreError) {
                if pointer.isSigned { trimmed = try publisher.sign(trimmed, upon: state) }
            } catch {
                // Anybody may have written such a channel: its files stay, and the prune continues.
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
        // Files that become unneeded under the two newest epochs can only be deleted in a later one.
        let garbageEpochMax = state.entry.garbageEpochMax(in: storage)
        if survey.unneeded(beside: live).contains(where: { $0.key.epoch > garbageEpochMax }) {
            entry.epoch += 1
        }
        // After an entry without pointers, no device is assumed to read what it does not offer.
        if entry.pointers.isEmpty, !mayAdvance { return nil }
        let prunedAt = state.entry.prunedAt
        let comesAfterTrimming =
            prunedAt > 0 ? try !log.pastEntry(prunedAt).pointers.isEmpty : false
        var isMark = try needsMark(state, log, keptFrom: entry.keptFrom)
        if !isMark, prunedAt > 0, storage.isOnDisk {
            var times: [Int64] = []
            isMark = try age(of: prunedAt, state, log, &times) == nil
        }
        guard
            !entry.pointers.isEmpty || entry.keptFrom != state.entry.keptFrom
                || entry.epoch != state.entry.epoch || comesAfterTrimming || isMark
        else { return nil }
        entry.prunedAt = number
        return entry
    }

    /// Whether an ended offer is not yet marked by a prune, with which its grace period begins.
    private func needsMark(
        _ state: OriginState, _ log: OriginLog, keptFrom: Int64
    ) throws(StoreError) -> Bool {
        let newest = max(state.entry.prunedAt, keptFrom)
        let since = try log.liveReleases(keptFrom: newest, upTo: state)
        let now = try log.liveReleases(keptFrom: state.number, upTo: state)
        return Set(since) != Set(now)
    }

    /// The newest prune older than the grace period, by the server's clock, that came after all copies were current.
    private func keptFrom(
        _ state: OriginState, _ log: OriginLog, _ grace: Int64
    ) throws(StoreError) -> Int64? {
        let liveCount = try log.liveReleases(keptFrom: state.entry.keptFrom, upTo: state).count
        func frees(_ number: Int64) throws(StoreError) -> Bool {
            try log.liveReleases(keptFrom: number, upTo: state).count < liveCount
        }
        let prunes = try log.prunes(after: state.entry.keptFrom, upTo: state)
        // Older ones free no more. Of any number, which may be a stranger's, only two are compared.
        guard let newest = prunes.first, try frees(newest.number) else { return nil }
        var times: [Int64] = []
        for prune in prunes where !prune.hasTrimmed {
            if let age = try age(of: prune.number, state, log, &times), age >= grace {
                return try frees(prune.number) ? prune.number : nil
            }
        }
        return nil
    }

    /// The age of a prune in seconds, by the server's clock or, without one, by this machine's.
    /// - Parameter times: the newest time up to each entry from ``LogEntry/keptFrom`` on, as far as it is known.
    /// - Returns: `nil` if nobody can tell, as that clock has been set back since, or was slow then and is right again.
    private func age(
        of number: Int64, _ state: OriginState, _ log: OriginLog, _ times: inout [Int64]
    ) throws(StoreError) -> Int64? {
        guard storage.isOnDisk else {
            return try storage.head(OriginLayout.logEntry(number))
                .map { $0.answeredAt - $0.modifiedAt }
        }
        let (now, then) = (publisher.now(), try log.pastEntry(number).createdAt)
        let count = Int(max(number - max(state.entry.keptFrom, 1), 0))
        while times.count < count {
            let earlier = max(state.entry.keptFrom, 1) + Int64(times.count)
            // A time in the future says nothing about the clock at that prune, and neither does an entry passed over.
            let time = try log.reading(earlier)?.entry?.createdAt ?? 0
            times.append(max(times.last ?? 0, time <= now ? time : 0))
        }
        return then > now || then < times.prefix(count).last ?? 0 ? nil : now - then
    }

    enum CopiesState {
        case unknown
        /// No device reads an older pointer than the state's.
        case areNew
        /// A copy is a stranger's or was outdated at the last prune: a plain write of an old pointer may still arrive.
        case wereBehind
    }

    /// Updates the copies of the log's pointers, and keeps the files of copies that stay or are newer.
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

    func write(
        _ channel: ChannelName, of state: OriginState, _ seen: LogCopy.Seen?, _ log: OriginLog,
        _ survey: OriginSurvey
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try CopyWriting(log, publisher.pause).write(channel, of: state, seen: seen)
            // A newer copy stays.
            if seen?.log ?? 0 > state.pointers[channel]?.log ?? 1 { survey.hold(seen?.pointer) }
            return true
        } catch {
            guard error.code == .damagedOrigin else { throw error }
            publisher.options.notice("what channel \(channel) offers stays: \(error.message)")
            survey.hold(try LogCopy.pointer(channel).read(from: storage).pointer)
            return false
        }
    }

    /// The age in seconds from which an upload counts as abandoned: a week, as in the rule of docs/buckets.md.
    static let uploadAgeMax: Int64 = 7 * 86_400

    /// - Returns: how many abandoned uploads there were.
    func endUploads(isDryRun: Bool) throws(StoreError) -> Int {
        let open: OpenUploads?
        do throws(StoreError) {
            open = try storage.openUploads()
        } catch {
            // A prune does not require this right; a lifecycle rule may do the same.
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
