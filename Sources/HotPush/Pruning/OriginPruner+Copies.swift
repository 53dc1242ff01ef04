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
            let seen = try PointerCopy(channel, in: storage).read()
            try publisher.checkEnd(of: log, state, channel, seen)
            if let place = places[channel], (seen.pointer?.log ?? 1) < place { isBehind = true }
            if try !write(channel, of: state, seen, log) { return .wereBehind }
        }
        return condition == .none && isBehind ? .wereBehind : .areNew
    }

    /// Brings the list of channels up to the log's: who made one may have been killed, or its write came late.
    func listChannels(of state: OriginState) throws(StoreError) {
        let list = try ChannelListCopy(of: state, in: storage)
        // For people and pages alone: what is not known to be written is left to the next prune.
        if try !list.isRight() { _ = try list.write() }
    }

    /// Brings a pointer up to the log's.
    /// - Returns: whether it is; else somebody else's stays there, and devices may read it.
    func write(
        _ channel: ChannelName, of state: OriginState, _ seen: PointerCopy.Seen?, _ log: OriginLog
    ) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try PointerCopies(log, publisher.pause).write(channel, of: state, seen: seen)
            return true
        } catch {
            guard error.code == .damagedOrigin else { throw error }
            publisher.options.notice(error.message)
            return false
        }
    }
}
