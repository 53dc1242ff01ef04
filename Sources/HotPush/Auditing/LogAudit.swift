import CASStore
import Storage
import Synchronization

/// Checks the log of an origin: no gaps, and every entry follows from the one before.
struct LogAudit {
    /// What was found.
    struct Result {
        var findings: [OriginFinding] = []
        var strays = StrayKeys()
        /// How many entries were read.
        var entryCount = 0
        /// The last entry that is there; 0 for none.
        var last: Int64 = 0
    }

    private let storage: any ObjectStorage
    private let tags: TagMeaning
    /// More entries than this are missing in a row: nobody asks for each.
    private static let askedGapMax: Int64 = 100

    init(_ storage: any ObjectStorage, _ tags: TagMeaning = TagMeaning()) {
        self.storage = storage
        self.tags = tags
    }

    /// Lists the log and reads every entry.
    /// - Throws: what listing and reading throw.
    func run() throws(StoreError) -> Result {
        var result = Result()
        var numbers: [Int64] = []
        try storage.forEachFile(below: OriginLayout.log + "/") { (file) throws(StoreError) in
            if let number = OriginLayout.number(ofLogEntry: file.key) {
                numbers.append(number)
            } else {
                result.strays.add(file.key, file.byteCount)
            }
        }
        result.entryCount = numbers.count
        numbers = try filled(numbers, &result)
        result.last = numbers.last ?? 0
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
                    try storage.head(OriginLayout.logEntry(missing.lowerBound)) != nil
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
            let outlines = try outlines(of: some, &result)
            for number in some {
                for problem in try order.problems(with: outlines[number], number) {
                    result.findings.append(
                        OriginFinding(
                            .damagedEntry, OriginLayout.logEntry(number),
                            "entry \(number) breaks the rules of the log: \(problem)"))
                }
            }
        }
    }

    private func outlines(
        of numbers: [Int64], _ result: inout Result
    ) throws(StoreError) -> [Int64: EntryOutline] {
        let read = Mutex<[Int64: EntryOutline]>([:])
        let broken = Mutex<[OriginFinding]>([])
        let (storage, tags) = (storage, tags)
        try storage.inParallel(numbers.count) { (position) throws(StoreError) in
            let number = numbers[position]
            do throws(StoreError) {
                // A log of its own: none belongs to two threads.
                guard let entry = try OriginLog(storage, tags).entry(number) else { return }
                read.withLock { $0[number] = EntryOutline(entry, number) }
            } catch {
                // If nothing after it counts, whoever looks what the origin is refuses a newer one.
                guard OriginLog.saysEntryIsBad(error) || error.code == .unsupportedFormat else {
                    throw error
                }
                let finding = OriginFinding(
                    .damagedEntry, OriginLayout.logEntry(number), error.message)
                broken.withLock { $0.append(finding) }
            }
        }
        result.findings += broken.withLock { $0 }.sorted { ($0.path ?? "") < ($1.path ?? "") }
        return read.withLock { $0 }
    }
}

extension OriginLog {
    /// Where it says how a log is begun anew.
    static let wayOut = "docs/buckets.md, If the log is gone"
}

// MARK: Rules

extension LogAudit {
    /// Holds one entry after the other against those before it.
    private struct Order {
        private var chain: EntryChain?
        /// Whose entry each was, by the digest of the author: that may be of any length.
        private var authors: [ObjectID: Int64] = [:]

        /// - Parameter entry: `nil` for one that cannot be read.
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
}
