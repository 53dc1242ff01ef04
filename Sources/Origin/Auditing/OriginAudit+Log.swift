import CASStore
import HotPush
import Storage
import Synchronization
import VersionTree

// The log of an origin has no gaps, and every entry follows from the one before.
extension OriginAudit {
    /// In a longer gap than this, entries are not asked for one by one.
    private static let askedGapMax: Int64 = 100

    /// Lists the log and reads every entry.
    /// - Returns: the last entry that exists; 0 for none.
    private func checkEntries() throws(StoreError) -> Int64 {
        var numbers: [Int64] = []
        try storage.forEachFile(below: OriginLayout.log + "/") { (file) throws(StoreError) in
            if let number = OriginLayout.number(ofLogEntry: file.key) {
                numbers.append(number)
            } else {
                report.strays.add(file.key, file.byteCount)
            }
        }
        report.entryCount = numbers.count
        numbers = try filled(numbers)
        try read(numbers)
        return numbers.last ?? 0
    }

    /// The numbers, completed by entries that exist although the listing did not show them.
    private func filled(_ listed: [Int64]) throws(StoreError) -> [Int64] {
        var all: [Int64] = []
        var next: Int64 = 1
        for number in listed {
            if number > next {
                var missing = next...(number - 1)
                while missing.count <= Self.askedGapMax,
                    try storage.head(OriginLayout.logEntry(missing.lowerBound)) != nil
                {
                    all.append(missing.lowerBound)
                    guard missing.count > 1 else { break }
                    missing = (missing.lowerBound + 1)...missing.upperBound
                }
                if all.last != missing.upperBound {
                    report.findings.append(Self.gap(missing))
                }
            }
            all.append(number)
            next = number + 1
        }
        return all
    }

    private static func gap(_ missing: ClosedRange<Int64>) -> OriginFinding {
        let (first, last) = (missing.lowerBound, missing.upperBound)
        let what = first == last ? "entry \(first) is" : "entries \(first) to \(last) are"
        return OriginFinding(
            .missingEntry, OriginLayout.logEntry(first),
            "\(what) not there, and later ones are: "
                + (first == 1
                    ? "a copy to this place was cut short, which is to be repeated (castree publish --all-of), or "
                    : "")
                + "somebody has deleted from the log; restore it from an older copy or, if there is none, begin the log "
                + "anew: castree fsck ORIGIN --repair, then move \(OriginLayout.log)/ away, then castree publish VERSION "
                + "ORIGIN --take-over (\(OriginLog.wayOut))")
    }

    private static let readCountMax = 1_000

    private func read(_ numbers: [Int64]) throws(StoreError) {
        var order = LogOrder()
        // The first entry alone: it shows what the store's tags mean, and whether the others must be read twice.
        var start = 0
        while start < numbers.count {
            let count = start == 0 ? 1 : Self.readCountMax
            let some = Array(numbers[start..<min(start + count, numbers.count)])
            start += some.count
            let outlines = try outlines(of: some)
            for number in some {
                if firstOrigins.isEmpty { firstOrigins = outlines[number]?.origins ?? [] }
                for problem in try order.problems(with: outlines[number], number) {
                    report.findings.append(
                        OriginFinding(
                            .damagedEntry, OriginLayout.logEntry(number),
                            "entry \(number) breaks the rules of the log: \(problem)"))
                }
            }
        }
    }

    private func outlines(of numbers: [Int64]) throws(StoreError) -> [Int64: EntryOutline] {
        let read = Mutex<[Int64: EntryOutline]>([:])
        let broken = Mutex<[OriginFinding]>([])
        let (storage, tags) = (storage, tags)
        try storage.inParallel(numbers.count) { (position) throws(StoreError) in
            let number = numbers[position]
            do throws(StoreError) {
                // An `OriginLog` belongs to one thread.
                guard let entry = try OriginLog(storage, tags).entry(number) else { return }
                read.withLock { $0[number] = EntryOutline(entry, number) }
            } catch {
                // If nothing after this entry counts, the check for the origin's state refuses a newer format.
                guard OriginLog.saysEntryIsBad(error) || error.code == .unsupportedFormat else {
                    throw error
                }
                let finding = OriginFinding(
                    .damagedEntry, OriginLayout.logEntry(number), error.message)
                broken.withLock { $0.append(finding) }
            }
        }
        report.findings += broken.withLock { $0 }.sorted { ($0.path ?? "") < ($1.path ?? "") }
        return read.withLock { $0 }
    }
}

extension OriginLog {
    /// The section that says how to begin a log anew.
    static let wayOut = "docs/buckets.md, If the log is gone"
}

// MARK: Rules

private struct LogOrder {
    private var chain: EntryChain?
    /// Whose entry each was, by the digest of the author, who may be of any length.
    private var authors: [ObjectID: Int64] = [:]

    /// - Parameter entry: `nil` if it cannot be read.
    mutating func problems(
        with entry: EntryOutline?, _ number: Int64
    ) throws(StoreError) -> [String] {
        var problems: [String] = []
        if let entry {
            let author = try ObjectID(of: Array(entry.author.utf8))
            if let other = authors.updateValue(number, forKey: author) {
                problems.append("it is the same commit as entry \(other)")
            }
        }
        let signed = chain?.signed ?? []
        if let chain, chain.number == number - 1, entry != nil || !signed.isEmpty {
            var next = chain
            problems += next.add(entry).breaches
            self.chain = next
        } else if let entry {
            problems += entry.breaches(number, after: nil)
            chain = EntryChain(entry, number, signed: signed)
        }
        return problems
    }
}

extension OriginAudit {
    func readLog() throws(StoreError) -> OriginState? {
        let count = report.findings.count
        let last = try checkEntries()
        let seen = try LogCopy.pointer(.stable).read(from: storage)
        var hint = seen.pointer?.log ?? 0
        do throws(StoreError) {
            // Entries behind a gap tell more than those before it, but nothing about a copy that was cut short.
            if report.findings.count > count, try !log.has(hint),
                try log.has(hint > 0 ? last : 1)
            {
                hint = last
            }
            if let state = try log.state(from: hint) { return state }
            // The missing entries are already a finding.
            if report.entryCount > 0 { return try existing() }
            if storage.isOnDisk, seen.pointer?.log == nil {
                let state = try existing()
                if !state.pointers.isEmpty || !report.findings.isEmpty { return state }
            }
            try noteMissing(seen.pointer?.log)
            return report.missing == nil ? try existing() : nil
        } catch {
            guard OriginLog.saysEntryIsBad(error) else { throw error }
            if !report.findings.contains(where: { $0.message == error.message }) {
                try found(.damagedEntry, nil, error.message)
            }
            if let state = try salvaged(hint) { return state }
            return try existing()
        }
    }

    /// The state by the newest entry and devices' copies of pointers that the log has lost; `nil` if it is unreadable.
    private func salvaged(_ hint: Int64) throws(StoreError) -> OriginState? {
        func entry(_ number: Int64) throws(StoreError) -> LogEntry? {
            try allowing(ReleaseFiles.isHarmless, try log.reading(number)?.entry)
        }
        let number = try allowing(ReleaseFiles.isHarmless, try log.end(from: hint))
        guard let number, let newest = try entry(number) else { return nil }
        var pointers: [ChannelName: ChannelPointer] = [:]
        for (channel, place) in newest.channels {
            let logged = try entry(place)?.pointers[channel]
            let copied = logged == nil ? try LogCopy.pointer(channel).read(from: storage) : nil
            pointers[channel] = logged ?? copied?.pointer
            if logged == nil, let there = copied?.pointer, (there.log ?? 1) != place {
                try found(
                    .foreignPointer, OriginLayout.pointer(channel),
                    "it is that of entry \(there.log ?? 1), and the log's stands in entry \(place), which is lost and may "
                        + "have been a withdrawal: restore that entry, or look what the channel should offer, and "
                        + "publish or withdraw again")
            }
        }
        return OriginState(number: number, entry: newest, pointers: pointers)
    }

    private func existing() throws(StoreError) -> OriginState {
        try OriginState(existingIn: storage) { channel in
            report.findings.append(
                OriginFinding(
                    .damagedPointer, OriginLayout.pointer(channel),
                    "it is not a pointer, and devices get no answer: restore it, or publish to the "
                        + "channel again"
                ))
        }
    }

    /// Notes that there is no log: a finding if there was one.
    /// - Throws: `.noOrigin`, unless the caller only probes the store.
    private func noteMissing(_ entry: Int64?) throws(StoreError) {
        let missing = try OriginTraces(of: storage).missingLog(namedBy: entry)
        guard missing.code == .damagedOrigin else {
            guard options.isProbing else { throw missing }
            report.missing = missing.message
            return
        }
        try found(.missingEntry, OriginLayout.logEntry(1), missing.message)
    }

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
            try check(.pointer(channel), of: state, nil, "devices do not see what the log offers")
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
