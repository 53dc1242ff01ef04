/// The ids that a version names, as runs of neighbours.
///
/// Objects of one import get neighbouring ids, so a version is a few runs and costs a few bytes; the
/// index updates a run with one statement. Stored as pairs of variable-length integers: the gap from
/// the end of the run before, and the length.
struct EdgeRuns: Sendable, Equatable {
    /// Ascending, not touching each other.
    private(set) var runs: [ClosedRange<Int64>] = []

    /// Groups ids in any order; duplicates count once.
    init(_ ids: [Int64]) {
        for id in ids.sorted() {
            if let last = runs.last, id <= last.upperBound + 1 {
                runs[runs.count - 1] = last.lowerBound...max(last.upperBound, id)
            } else {
                runs.append(id...id)
            }
        }
    }

    /// Adds a run that lies above all others.
    mutating func append(_ run: ClosedRange<Int64>) {
        if let last = runs.last, last.upperBound + 1 == run.lowerBound {
            runs[runs.count - 1] = last.lowerBound...run.upperBound
        } else {
            runs.append(run)
        }
    }

    /// Reads the stored form; `nil` if it is damaged.
    init?(_ bytes: UnsafeRawBufferPointer) {
        var position = 0
        var end: Int64 = 0
        func number() -> Int64? {
            var value: Int64 = 0
            var shift: Int64 = 0
            while position < bytes.count, shift < 63 {
                let byte = bytes[position]
                position += 1
                value |= Int64(byte & 0x7f) << shift
                if byte & 0x80 == 0 { return value }
                shift += 7
            }
            return nil
        }
        while position < bytes.count {
            guard let gap = number(), let length = number(), length > 0,
                gap < Int64.max / 4, length < Int64.max / 4
            else { return nil }
            let (start, isFar) = end.addingReportingOverflow(gap)
            let (next, isFarther) = start.addingReportingOverflow(length)
            if isFar || isFarther { return nil }
            runs.append(start...(next - 1))
            end = next
        }
    }

    /// The stored form.
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

    /// How many ids there are.
    var count: Int64 { runs.reduce(0) { $0 + ($1.upperBound - $1.lowerBound + 1) } }
}
