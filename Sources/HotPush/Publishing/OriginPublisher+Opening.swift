import CASStore
import Storage
import VersionTree

// What a command builds upon: what the log says, or what stands where an older castree has written none.

extension OriginPublisher {
    /// What the origin is now, and what stands as a channel's pointer.
    ///
    /// An origin without a log gets one.
    /// - Parameters:
    ///   - channel: the one that the command is about.
    ///   - isCreating: whether an origin is made if there is none.
    ///   - isUrgent: whether nothing that the clients of other systems were told may be in the way.
    ///   - check: refuses what the command is not to do: for its sake no log is begun.
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
                    "the log of \(storage.place) is there and goes on: nothing is taken over (\(OriginLog.wayOut))"
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
            guard storage.listsAll, seen.pointer?.log == nil, !traces.channels.isEmpty else {
                throw traces.absence(namedBy: seen.pointer?.log)
            }
        }
        let state = try OriginFoundation(self, log).lay(
            seen, isUrgent: isUrgent, checking: check)
        // Somebody else may have been faster.
        try check(state)
        // What named an entry of a log that is gone was written again.
        return (state, seen.pointer?.log == nil ? seen : try copy.read(from: storage))
    }

    /// What the origin is now; `nil` if it has no log.
    /// - Throws: also `.damagedOrigin` if the log has lost its last entries.
    func logged(
        _ channel: ChannelName, _ seen: LogCopy.Seen, _ log: OriginLog
    ) throws(StoreError) -> OriginState? {
        guard let state = try log.state(from: seen.pointer?.log ?? 0) else { return nil }
        try checkEnd(of: log, state, channel, seen)
        // Where each look is paid for, who writes to a channel looks at its pointer.
        if storage.looksAreFree { try checkEnd(of: log, state) }
        return state
    }

    /// Refuses a log that has lost its last entries, as any pointer shows, also of a channel that the log knows no more.
    func checkEnd(of log: OriginLog, _ state: OriginState) throws(StoreError) {
        try storage.listAll(OriginLayout.channels + "/") { (page) throws(StoreError) in
            for channel in page.files.compactMap({ OriginLayout.channel(ofPointer: $0.key) }) {
                try checkEnd(of: log, state, channel, LogCopy.pointer(channel).read(from: storage))
            }
            return true
        }
    }

    /// Refuses a log that has lost its last entries, as a pointer shows that names one: what they say would be taken back,
    /// silently as soon as others get their numbers.
    ///
    /// An entry stands before any pointer names it.
    func checkEnd(
        of log: OriginLog, _ state: OriginState, _ channel: ChannelName, _ seen: LogCopy.Seen
    ) throws(StoreError) {
        let copy = LogCopy.pointer(channel)
        func lost(in seen: LogCopy.Seen) throws(StoreError) -> Int64? {
            guard let pointer = seen.pointer, let named = pointer.log, named > state.number,
                try !log.has(named),
                // Where those who sign can tell, a stranger's pointer keeps nobody from publishing.
                try log.vouches?(pointer) ?? true
            else { return nil }
            return named
        }
        // Somebody may have written it again since.
        guard try lost(in: seen) != nil, let named = try lost(in: copy.read(from: storage))
        else { return }
        throw log.lacks(named, namedBy: copy.key)
    }

    /// What the origin is now, where it has a log.
    func state(of log: OriginLog, from hint: Int64) throws(StoreError) -> OriginState {
        guard let state = try log.state(from: hint) else {
            throw StoreError(.network, "the log in \(storage.place) cannot be read any more")
        }
        return state
    }
}
