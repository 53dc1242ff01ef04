import CASStore

/// The wanted part of a pack, once its opening is known.
struct PackWish {
    let unpacker: FrameUnpacker
    let frames: [Bool]
    /// Includes the gaps inside a request.
    let byteCount: Int64
    let cost: Int64
    let objectsCost: Int64
    /// The disk space that a frame takes beside what comes out of it, at most.
    let besideByteCount: Int64

    /// Nil if the pack has no object that is missing from `download`.
    init?(
        _ opening: PackOpening, of store: Store, for download: Download
    ) throws(StoreError) {
        let unpacker = try FrameUnpacker(opening, of: store, for: download)
        var frames: [Bool] = []
        var objectsCost: Int64 = 0
        var besideByteCount: Int64 = 0
        for frame in opening.table.frames.indices {
            let wanted = unpacker.objects(of: frame).filter { download.isMissing($0.address) }
            frames.append(!wanted.isEmpty)
            if !wanted.isEmpty {
                besideByteCount = max(besideByteCount, unpacker.byteCount(beside: frame))
            }
            for object in wanted { objectsCost += object.byteCount + PackSpans.requestByteCount }
        }
        guard objectsCost > 0 else { return nil }
        let runs = PackSpans.runs(of: opening.table) { frames[$0] }
        self.unpacker = unpacker
        self.frames = frames
        self.objectsCost = objectsCost
        self.besideByteCount = besideByteCount
        cost = PackSpans.cost(of: runs, in: opening.table)
        byteCount = cost - Int64(runs.count) * PackSpans.requestByteCount
    }
}

enum PackSpans {
    /// The bytes that one request is worth: its head, the answer's head, and the wait for the first byte.
    static let requestByteCount: Int64 = 8 << 10

    /// Runs of frames for one request each: neighbours, and frames whose gap is cheaper than a request.
    static func runs(
        of table: PackTable, wanted isWanted: (Int) -> Bool
    ) -> [Range<Int>] {
        var runs: [Range<Int>] = []
        for position in table.frames.indices.dropFirst() where isWanted(position) {
            if let last = runs.last,
                table.frames[position].offset - table.frames[last.upperBound - 1].end
                    <= requestByteCount
            {
                runs[runs.count - 1] = last.lowerBound..<position + 1
            } else {
                runs.append(position..<position + 1)
            }
        }
        return runs
    }

    static func cost(of runs: [Range<Int>], in table: PackTable) -> Int64 {
        runs.reduce(0) { sum, run in
            sum + table.frames[run.upperBound - 1].end - table.frames[run.lowerBound].offset
                + requestByteCount
        }
    }
}
