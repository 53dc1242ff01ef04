/// The ids that a version names, as runs of neighbours.
///
/// Objects of one import get neighbouring ids, so a version costs a few bytes and a statement for each run. Stored as
/// pairs of variable-length integers: the gap from the end of the run before, and the length.
struct EdgeRuns: Sendable, Equatable {
    /// Ascending, not touching each other.
    private(set) var runs: [ClosedRange<Int64>] = []

    static let damage = StoreError(.index, "the index holds damaged references")

    /// - Parameter ids: in any order; duplicates count once.
    init(_ ids: [Int64]) {
        for id in ids.sorted() { append(id...id) }
    }

    /// Adds a run that begins in the last one or above it.
    mutating func append(_ run: ClosedRange<Int64>) {
        if let last = runs.last, run.lowerBound <= last.upperBound + 1 {
            runs[runs.count - 1] = last.lowerBound...max(last.upperBound, run.upperBound)
        } else {
            runs.append(run)
        }
    }

    /// Decodes the stored form; `nil` if it is damaged.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var reading = Reading(bytes)
        while let run = reading.next() { runs.append(run) }
        if reading.isDamaged { return nil }
    }

    /// Decodes runs one by one, so that a scan of all versions' edges keeps none in memory.
    struct Reading {
        private let bytes: UnsafeRawBufferPointer
        private var position = 0
        private var end: Int64 = 0
        private(set) var isDamaged = false

        init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

        /// The next run; `nil` after the last, or if the bytes are damaged.
        mutating func next() -> ClosedRange<Int64>? {
            guard position < bytes.count, !isDamaged else { return nil }
            let gap = number()
            let length = number()
            let (start, isFar) = end.addingReportingOverflow(gap)
            let (next, isFarther) = start.addingReportingOverflow(length)
            guard gap >= 0, length > 0, gap < Int64.max / 4, length < Int64.max / 4, !isFar,
                !isFarther
            else {
                isDamaged = true
                return nil
            }
            end = next
            return start...(next - 1)
        }

        /// The next number; -1 if there is none.
        private mutating func number() -> Int64 {
            var value: Int64 = 0
            var shift: Int64 = 0
            while position < bytes.count, shift < 63 {
                let byte = bytes[position]
                position += 1
                value |= Int64(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return value }
                shift += 7
            }
            return -1
        }
    }

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        var end: Int64 = 0
        func append(_ number: Int64) {
            var rest = UInt64(number)
            while rest >= 0x80 {
                bytes.append(UInt8(rest & 0x7f) | 0x80)
                rest >>= 7
            }
            bytes.append(UInt8(rest))
        }
        for run in runs {
            append(run.lowerBound - end)
            append(run.upperBound - run.lowerBound + 1)
            end = run.upperBound + 1
        }
        return bytes
    }

    func contains(_ id: Int64) -> Bool {
        let place = runs.firstPosition { $0.upperBound < id }
        return place < runs.count && runs[place].contains(id)
    }

    var count: Int64 { runs.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }
}

extension Statement {
    /// Calls `body` with every row of the objects with these ids; the statement selects ids `?1` through `?2`.
    func forEachRow(
        in edges: EdgeRuns, _ body: (Statement) throws(StoreError) -> Void
    ) throws(StoreError) {
        for run in edges.runs {
            bind(1, run.lowerBound).bind(2, run.upperBound)
            while try step() { try body(self) }
        }
    }
}
