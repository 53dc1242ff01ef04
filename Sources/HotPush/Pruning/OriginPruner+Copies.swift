import CASStore
import Storage

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
    func repairPointers(
        of state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> CopiesState {
        let condition = try log.pastEntry(1).pointerCondition ?? .none
        let prunedAt = state.entry.prunedAt
        let places = prunedAt > 0 ? try log.pastEntry(prunedAt).channels : [:]
        var isBehind = false
        for channel in state.pointers.keys.sorted() {
            let seen = try LogCopy.pointer(channel).read(from: storage)
            try publisher.checkEnd(of: log, state, channel, seen)
            if let place = places[channel], (seen.pointer?.log ?? 1) < place { isBehind = true }
            if try !write(channel, of: state, seen, log) { return .wereBehind }
        }
        return condition == .none && isBehind ? .wereBehind : .areNew
    }

    /// Brings a pointer up to the log's.
    /// - Returns: whether it is; else somebody else's stays there, and devices may read it.
    func write(
        _ channel: ChannelName, of state: OriginState, _ seen: LogCopy.Seen?, _ log: OriginLog
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try CopyWriting(log, publisher.pause).write(channel, of: state, seen: seen)
            return true
        } catch {
            guard error.code == .damagedOrigin else { throw error }
            publisher.options.notice(error.message)
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
