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
