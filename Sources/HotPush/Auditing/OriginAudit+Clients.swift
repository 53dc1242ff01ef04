import CASStore
import Storage
import VersionTree

// What the clients of other systems are told.
extension OriginAudit {
    /// Holds the files below `for/` against the log.
    func checkClients(of state: OriginState, _ survey: OriginSurvey) throws(StoreError) {
        let copies = ClientCopies.all(in: state.entry)
        for copy in copies {
            var there = Optional(try copy.read(log))
            do throws(StoreError) {
                _ = try copy.bytes(in: state, log, near: there ?? .init())
            } catch {
                guard OriginLog.saysEntryIsBad(error) else { throw error }
                try found(.damagedEntry, nil, error.message)
                continue
            }
            let wrong = try lasting { () throws(StoreError) in
                let seen = if let seen = there.take() { seen } else { try copy.read(log) }
                return try problem(with: copy, seen, state).map { (seen, $0) }
            }
            guard let (seen, problem) = wrong else { continue }
            try found(
                .wrongPointer, copy.key, "\(problem); clients are not told what the log says"
            ) { () throws(StoreError) in
                let isBeyond = (seen.log ?? 0) > state.number
                try CopyWriting(log, options.pause).write(
                    copy, of: state, seen: seen, isForced: isBeyond)
                return true
            }
        }
        var unknown = Set(survey.clientFiles).subtracting(copies.map(\.key))
        if !unknown.isEmpty {
            unknown.subtract(ClientCopies.all(in: try newest(since: state).entry).map(\.key))
        }
        for path in unknown.sorted() {
            try found(
                .foreignPointer, path,
                "the log knows nothing of it: somebody has copied a directory's origin here; delete the file"
            )
        }
    }

    /// What is wrong with a copy; `nil` if nothing is.
    private func problem(
        with copy: ClientCopy, _ seen: ClientCopy.Seen, _ state: OriginState
    ) throws(StoreError) -> String? {
        do throws(StoreError) {
            if try copy.isAsNew(seen, as: state, log) { return nil }
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            // Somebody may have published meanwhile.
            if let newer = try log.state(from: state.number), newer.number > state.number,
                try copy.bytes(in: newer, log, near: seen) == seen.bytes
            {
                return nil
            }
            return error.message
        }
        if seen.tag == nil { return absence(of: copy.key).problem }
        let place = copy.place(in: state.entry) ?? 0
        guard let log = seen.log, log < place else {
            return "it is not what entry \(place) of the log says"
        }
        return "it is that of entry \(log), and the log's stands in entry \(place)"
    }

    /// Adds the documents that histories name; without a log, those that are there.
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
