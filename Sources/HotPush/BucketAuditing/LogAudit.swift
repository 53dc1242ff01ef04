import CASStore
import Storage
import Synchronization

/// Checks the log of an origin in a bucket: no gaps, and every entry follows from the one before.
struct LogAudit {
    /// What was found.
    struct Result {
        var findings: [BucketFinding] = []
        var strays = StrayKeys()
        /// How many entries were read.
        var entryCount = 0
        /// The bytes of the log.
        var byteCount: Int64 = 0
        /// Whether the listing has any entry.
        var isThere = false
    }

    /// What an entry says, without its pointers.
    private struct Summary: Sendable {
        let author: String
        let epoch: Int64
        let keptFrom: Int64
        let prunedAt: Int64
        let channels: [ChannelName: Int64]
        /// Channels whose pointer says that it stands in another entry.
        let misplaced: [ChannelName]
        /// The newest epoch of what its pointers offer.
        let epochMax: Int64
        /// Where it stands what the clients of other systems are told.
        let clients: [ToldSystem: ClientPlaces]
        /// The entry that each of its rows name as the one before.
        let rowsBefore: [HistoryName: Int64]

        init(_ entry: LogEntry, _ number: Int64) {
            author = entry.author
            (epoch, keptFrom, prunedAt) = (entry.epoch, entry.keptFrom, entry.prunedAt)
            channels = entry.channels
            (clients, rowsBefore) = (entry.clients, entry.rows.mapValues(\.before))
            epochMax =
                entry.pointers.values.flatMap(\.liveReleases).map(\.version.epoch).max() ?? 0
            misplaced = entry.pointers.filter { ($0.value.log ?? 1) != number }.map(\.key).sorted()
        }
    }

    private let bucket: any ObjectStorage
    private let tags: TagMeaning
    /// More entries than this are missing in a row: nobody asks for each.
    private static let askedGapMax: Int64 = 100

    init(_ bucket: any ObjectStorage, _ tags: TagMeaning = TagMeaning()) {
        self.bucket = bucket
        self.tags = tags
    }

    /// Lists the log and reads every entry.
    /// - Throws: what listing and reading throw.
    func run() throws(StoreError) -> Result {
        var result = Result()
        var numbers: [Int64] = []
        try bucket.listAll(OriginLayout.log + "/") { (page) throws(StoreError) in
            for file in page.files {
                guard let number = OriginLayout.number(ofLogEntry: file.key) else {
                    result.strays.add(file.key, file.byteCount)
                    continue
                }
                numbers.append(number)
                result.byteCount = result.byteCount.addingClamped(file.byteCount)
            }
            return true
        }
        result.isThere = !numbers.isEmpty
        result.entryCount = numbers.count
        numbers = try filled(numbers, &result)
        try read(numbers, &result)
        return result
    }

    /// The numbers with those that a listing has not shown though they are there.
    private func filled(
        _ listed: [Int64], _ result: inout Result
    ) throws(StoreError) -> [Int64] {
        var all: [Int64] = []
        var next: Int64 = 1
        for number in listed {
            if number > next {
                var missing = next...(number - 1)
                while missing.count <= Self.askedGapMax,
                    try bucket.head(OriginLayout.logEntry(missing.lowerBound)) != nil
                {
                    all.append(missing.lowerBound)
                    guard missing.count > 1 else { break }
                    missing = (missing.lowerBound + 1)...missing.upperBound
                }
                if all.last != missing.upperBound {
                    result.findings.append(Self.gap(missing))
                }
            }
            all.append(number)
            next = number + 1
        }
        return all
    }

    private static func gap(_ missing: ClosedRange<Int64>) -> BucketFinding {
        let (first, last) = (missing.lowerBound, missing.upperBound)
        let what = first == last ? "entry \(first) is" : "entries \(first) to \(last) are"
        return BucketFinding(
            .missingEntry, OriginLayout.logEntry(first),
            "\(what) not there, and later ones are: somebody has deleted from the log; restore it from an "
                + "older version of the bucket")
    }

    /// So many entries are read before they are compared and forgotten.
    private static let readCountMax = 1_000

    private func read(_ numbers: [Int64], _ result: inout Result) throws(StoreError) {
        var order = Order()
        // The first by itself: it shows what the store's tags are, and whether the others are to be read twice.
        var start = 0
        while start < numbers.count {
            let count = start == 0 ? 1 : Self.readCountMax
            let some = Array(numbers[start..<min(start + count, numbers.count)])
            start += some.count
            let summaries = try summaries(of: some, &result)
            for number in some {
                guard let entry = summaries[number] else { continue }
                for problem in try order.problems(with: entry, number) {
                    result.findings.append(
                        BucketFinding(
                            .damagedEntry, OriginLayout.logEntry(number),
                            "entry \(number) breaks the rules of the log: \(problem)"))
                }
            }
        }
    }

    private func summaries(
        of numbers: [Int64], _ result: inout Result
    ) throws(StoreError) -> [Int64: Summary] {
        let read = Mutex<[Int64: Summary]>([:])
        let broken = Mutex<[BucketFinding]>([])
        let (bucket, tags) = (bucket, tags)
        try bucket.inParallel(numbers.count) { (position) throws(StoreError) in
            let number = numbers[position]
            do throws(StoreError) {
                // A log of its own: none belongs to two threads.
                guard let entry = try OriginLog(bucket, tags).entry(number) else { return }
                read.withLock { $0[number] = Summary(entry, number) }
            } catch {
                guard OriginLog.saysEntryIsBad(error) else { throw error }
                let finding = BucketFinding(
                    .damagedEntry, OriginLayout.logEntry(number), error.message)
                broken.withLock { $0.append(finding) }
            }
        }
        result.findings += broken.withLock { $0 }.sorted { ($0.path ?? "") < ($1.path ?? "") }
        return read.withLock { $0 }
    }
}

// MARK: Rules

extension LogAudit {
    /// Holds one entry after the other against those before it.
    private struct Order {
        private var last: (number: Int64, entry: Summary)?
        /// Whose entry each was, by the digest of the author: that may be of any length.
        private var authors: [ObjectID: Int64] = [:]

        mutating func problems(with entry: Summary, _ number: Int64) throws(StoreError) -> [String]
        {
            var problems: [String] = []
            let author = try ObjectID(of: Array(entry.author.utf8))
            if let other = authors.updateValue(number, forKey: author) {
                problems.append("it is the same commit as entry \(other)")
            }
            for channel in entry.misplaced {
                problems.append("its pointer of channel \(channel) names another entry")
            }
            if entry.epochMax > entry.epoch {
                problems.append("it offers what stands in epoch \(entry.epochMax)")
            }
            if number == 1 {
                if entry.keptFrom != 1 || entry.prunedAt != 0 {
                    problems.append("it is the first, and speaks of earlier ones")
                }
            } else if let last, last.number == number - 1 {
                problems += LogAudit.breaches(of: entry, number, after: last.entry)
                problems += LogAudit.clientBreaches(of: entry, number, after: last.entry)
            }
            last = (number, entry)
            return problems
        }
    }

    /// What it says of the clients of other systems.
    private static func clientBreaches(
        of entry: Summary, _ number: Int64, after before: Summary
    ) -> [String] {
        var problems: [String] = []
        func check(_ what: String, _ now: Int64?, _ then: Int64?) {
            guard now != then, now != number else { return }
            problems.append("it does not place \(what) where the entry before does")
        }
        for system in Set(entry.clients.keys).union(before.clients.keys).sorted() {
            let (now, then) = (entry.clients[system], before.clients[system])
            check("what is set for \(system)", now?.configuration, then?.configuration)
            let channels = Set((now?.histories ?? [:]).keys).union((then?.histories ?? [:]).keys)
            for channel in channels.sorted() {
                let earlier = then?.histories[channel]
                check(
                    "the history of channel \(channel) for \(system)", now?.histories[channel],
                    earlier)
                let name = HistoryName(system: system, channel: channel)
                if let named = entry.rowsBefore[name], named != earlier ?? 0 {
                    problems.append(
                        "its rows of channel \(channel) for \(system) follow those of entry \(named)"
                    )
                }
            }
        }
        return problems
    }

    private static func breaches(
        of entry: Summary, _ number: Int64, after before: Summary
    ) -> [String] {
        var problems: [String] = []
        if entry.epoch != before.epoch, entry.epoch != before.epoch + 1 {
            problems.append("its epoch is \(entry.epoch) after \(before.epoch)")
        }
        if entry.keptFrom < before.keptFrom {
            problems.append("it keeps what the entry before it gave up")
        }
        if entry.prunedAt != before.prunedAt, entry.prunedAt != number {
            problems.append("its newest prune is neither itself nor that of the entry before")
        }
        for (channel, place) in before.channels.sorted(by: { $0.key < $1.key })
        where entry.channels[channel] != place && entry.channels[channel] != number {
            problems.append("it does not place channel \(channel) where the entry before does")
        }
        for (channel, place) in entry.channels.sorted(by: { $0.key < $1.key })
        where before.channels[channel] == nil && place != number {
            problems.append("it places channel \(channel), which is new, in entry \(place)")
        }
        return problems
    }
}
