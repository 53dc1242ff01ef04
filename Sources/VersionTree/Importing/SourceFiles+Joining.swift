import CASStore

// A walk does not know how many files it will find. A growing array exists twice for a moment, so files are collected
// in parts of a fixed size and joined once their number is known.

extension SourceFiles {
    /// Large enough for the system to reclaim each freed array, small enough for one more part not to matter.
    private static let partCount = 4096

    /// Makes an empty part; only its array of path bytes may grow.
    static func part() -> SourceFiles {
        var part = SourceFiles()
        part.records.reserveCapacity(partCount)
        part.states.reserveCapacity(partCount)
        part.marks.reserveCapacity(partCount)
        part.paths.reserveCapacity(partCount * 64)
        return part
    }

    var isFull: Bool { count == Self.partCount }

    /// Joins and consumes the parts, sorting the files bytewise by path.
    init(joining parts: inout [SourceFiles]) {
        let count = parts.reduce(0) { $0 + $1.count }
        self.init()
        records.reserveCapacity(count)
        states.reserveCapacity(count)
        marks.reserveCapacity(count)
        paths.reserveCapacity(parts.reduce(0) { $0 + $1.paths.count })
        for position in parts.indices {
            take(parts[position])
            parts[position] = SourceFiles()
        }
        parts = []
        sort()
    }

    private mutating func take(_ part: SourceFiles) {
        let start = UInt32(paths.count)
        let devices = part.devices.map { position(ofDevice: $0) }
        paths += part.paths
        states += part.states
        for var record in part.records {
            record.pathStart += start
            records.append(record)
        }
        for var mark in part.marks {
            mark.device = devices[mark.device]
            marks.append(mark)
        }
    }

    private mutating func sort() {
        var order = (0..<count).map { UInt32($0) }
        paths.withUnsafeBufferPointer { bytes in
            records.withUnsafeBufferPointer { records in
                func path(_ position: UInt32) -> UnsafeBufferPointer<UInt8> {
                    let record = records[Int(position)]
                    return bytes.path(at: record.pathStart, length: record.pathLength)
                }
                order.sort { path($0).precedes(path($1)) }
            }
        }
        arrange(&order)
    }

    /// Permutes the files in place so that each position gets the file that `order` names; consumes `order`.
    private mutating func arrange(_ order: inout [UInt32]) {
        for first in order.indices where order[first] != UInt32(first) {
            let (record, state, mark) = (records[first], states[first], marks[first])
            var hole = first
            while order[hole] != UInt32(first) {
                let source = Int(order[hole])
                records[hole] = records[source]
                states[hole] = states[source]
                marks[hole] = marks[source]
                order[hole] = UInt32(hole)
                hole = source
            }
            records[hole] = record
            states[hole] = state
            marks[hole] = mark
            order[hole] = UInt32(hole)
        }
    }
}
