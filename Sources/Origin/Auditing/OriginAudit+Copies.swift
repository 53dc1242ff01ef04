import CASStore
import HotPush
import Storage
import VersionTree

extension OriginAudit {
    func checkAnnounced(of state: OriginState, _ files: [String]) throws(StoreError) {
        let copies = LogCopy.announced(in: state.entry)
        for copy in copies {
            let there = try copy.read(from: storage)
            do throws(StoreError) {
                _ = try copy.bytes(in: state, log, near: there)
            } catch {
                guard OriginLog.saysEntryIsBad(error) else { throw error }
                try found(.damagedEntry, nil, error.message)
                continue
            }
            try check(copy, of: state, there, "clients are not told what the log says")
        }
        var unknown = Set(files).subtracting(copies.map(\.key))
        if !unknown.isEmpty {
            unknown.subtract(LogCopy.announced(in: try newest(since: state).entry).map(\.key))
        }
        for path in unknown.sorted() {
            try found(
                .foreignPointer, path,
                "the log knows nothing of it: somebody has copied a directory's origin here, or the log has lost its last "
                    + "entries; restore them, or delete the file"
            )
        }
    }

    func checkPointers(of state: OriginState, _ files: [String]) throws(StoreError) {
        for channel in state.pointers.keys.sorted() {
            try check(
                .pointer(channel), of: state, nil, "devices do not see what the log offers")
        }
        for path in files {
            guard let channel = OriginLayout.channel(ofPointer: path),
                state.entry.channels[channel] == nil,
                try newest(since: state).entry.channels[channel] == nil
            else { continue }
            try found(
                .foreignPointer, path,
                "the log knows no channel \(channel): somebody has copied a directory's origin here, or the log has "
                    + "lost its last entries; restore them, or delete the file, and publish to the channel"
            )
        }
    }

    /// - Parameters:
    ///   - first: what was read already; `nil` to read it.
    ///   - effect: the consequence if the copy is wrong.
    private func check(
        _ copy: LogCopy, of state: OriginState, _ first: LogCopy.Seen?, _ effect: String
    ) throws(StoreError) {
        var first = first
        let wrong = try lasting { () throws(StoreError) in
            let seen = if let seen = first.take() { seen } else { try copy.read(from: storage) }
            return try problem(with: copy, seen, state).map { (seen, $0) }
        }
        guard let (seen, problem) = wrong else { return }
        try found(.wrongPointer, copy.key, "\(problem); \(effect)") { () throws(StoreError) in
            let isBeyond = (seen.log ?? 0) > state.number
            let writing = CopyWriting(log, options.pause)
            if case .pointer(let channel) = copy {
                try writing.write(channel, of: state, seen: seen, isForced: isBeyond)
            } else {
                try writing.write(copy, of: state, seen: seen, isForced: isBeyond)
            }
            return true
        }
    }

    private func problem(
        with copy: LogCopy, _ seen: LogCopy.Seen, _ state: OriginState
    ) throws(StoreError) -> String? {
        var place = copy.place(in: state.entry) ?? 0
        do throws(StoreError) {
            if try copy.isAsNew(seen, as: state, log) { return nil }
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            // The pointer names a missing entry, which is reported below.
            if copy.system != nil {
                // Somebody may have published in the meantime.
                if let newer = try log.state(from: state.number), newer.number > state.number,
                    try copy.bytes(in: newer, log, near: seen) == seen.bytes
                {
                    return nil
                }
                return error.message
            }
        }
        if seen.tag == nil { return missing(of: copy.key).problem }
        if case .pointer(let channel) = copy {
            guard let theirs = seen.log else { return "it is no pointer" }
            if theirs > state.number {
                return
                    "it claims to be in entry \(theirs), and is not: if the log has lost its last entries, restore "
                    + "them from an older copy before anything is repaired"
            }
            place = state.pointers[channel]?.log ?? 1
        }
        if let theirs = seen.log, theirs < place {
            return "it is that of entry \(theirs), and the log's stands in entry \(place)"
        }
        return copy.system == nil
            ? "it is not the one in entry \(place) of the log"
            : "it is not what entry \(place) of the log says"
    }

    /// Adds the documents that histories name or, without a log, those that are there.
    func addDocuments(
        of state: OriginState, _ survey: OriginSurvey, keptFrom: Int64,
        to needed: inout NeededFiles
    ) throws(StoreError) {
        guard state.hasLog else {
            for (key, byteCount) in survey.table.others {
                guard case .document = key.kind else { continue }
                needed.add(SizedKey(key: key, byteCount: byteCount))
            }
            return
        }
        do throws(StoreError) {
            let documents = try log.documents(
                of: Set(state.entry.clients.keys), keptFrom: keptFrom, upTo: state)
            for document in documents { needed.add(document) }
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            try found(.damagedEntry, nil, error.message)
        }
    }
}
