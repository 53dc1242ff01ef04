import CASStore

/// What is wanted of a pack, once its opening is known.
struct PackWish {
    let unpacker: FrameUnpacker
    /// For each frame, whether any of its objects is wanted.
    let frames: [Bool]
    /// The bytes of the frames, and of what lies between those that are asked for together.
    let byteCount: Int64
    let cost: Int64
    let objectsCost: Int64

    /// - Parameter download: takes the objects, as far as they are missing there.
    /// - Returns: nil if none of the pack's is.
    init?(
        _ opening: PackOpening, of store: Store, for download: Download
    ) throws(StoreError) {
        let unpacker = try FrameUnpacker(opening, of: store, for: download)
        var frames: [Bool] = []
        var objectsCost: Int64 = 0
        for frame in opening.table.frames.indices {
            let wanted = unpacker.objects(of: frame).filter { download.isMissing($0.address) }
            frames.append(!wanted.isEmpty)
            for object in wanted { objectsCost += object.byteCount + PackSpans.requestByteCount }
        }
        guard objectsCost > 0 else { return nil }
        let runs = PackSpans.runs(of: opening.table) { frames[$0] }
        self.unpacker = unpacker
        self.frames = frames
        self.objectsCost = objectsCost
        cost = PackSpans.cost(of: runs, in: opening.table)
        byteCount = cost - Int64(runs.count) * PackSpans.requestByteCount
    }
}

/// What to ask of a pack if only some of its frames are wanted.
enum PackSpans {
    /// The bytes that a request is worth: what its head, its answer's and the wait for the first byte cost.
    static let requestByteCount: Int64 = 8 << 10

    /// Runs of frames that are asked for together: neighbours, and those with less between them than a request
    /// is worth.
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

    /// What these runs cost: bytes, and what their requests are worth.
    static func cost(of runs: [Range<Int>], in table: PackTable) -> Int64 {
        runs.reduce(0) { sum, run in
            sum + table.frames[run.upperBound - 1].end - table.frames[run.lowerBound].offset
                + requestByteCount
        }
    }
}
