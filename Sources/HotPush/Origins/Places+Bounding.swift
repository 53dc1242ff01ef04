// Where a release has so many runs that its places would be larger than a reader takes, some objects are written again
// in the newest epoch, so that runs join.

extension Places {
    /// Places of at most so many bytes, with as few objects moved to the newest epoch as it takes, or nearly so.
    ///
    /// - Parameter newest: not less than any epoch of these.
    func bounded(by byteCountMax: Int64, newest: Int64) -> Places {
        if serialized().count <= byteCountMax { return self }
        var best = Places()
        best.append(count, in: newest)
        // What a run may cost, in objects: the higher, the fewer runs stay. One run is left where it is dearer than all.
        var (low, high) = (0.0, Double(count) + 1)
        for _ in 0..<40 {
            let price = (low + high) / 2
            let candidate = cheapest(newest: newest, price: price)
            if candidate.serialized().count <= byteCountMax {
                best = candidate
                high = price
            } else {
                low = price
            }
        }
        return best
    }

    /// The places for which moved objects and runs together cost least.
    private func cheapest(newest: Int64, price: Double) -> Places {
        // What the runs so far cost if the last one stays, or is moved; and whether the one before it was moved then.
        var (stays, moves) = (0.0, 0.0)
        var wasMoved: [(ifStays: Bool, ifMoves: Bool)] = []
        wasMoved.reserveCapacity(ends.count)
        for run in ends.indices {
            let length = Double(ends[run] - (run == 0 ? 0 : ends[run - 1]))
            let isNewest = epochs[run] == newest
            let (staysFirst, movesFirst) = (stays + price, run == 0 ? price : moves)
            wasMoved.append((ifStays: moves < stays, ifMoves: movesFirst <= staysFirst))
            let least = run == 0 ? 0 : min(stays, moves)
            moves = min(movesFirst, staysFirst) + (isNewest ? 0 : length)
            stays = isNewest ? .infinity : least + price
        }
        var isMoved = moves <= stays
        var moved = Array(repeating: false, count: ends.count)
        for run in ends.indices.reversed() {
            moved[run] = isMoved
            isMoved = isMoved ? wasMoved[run].ifMoves : wasMoved[run].ifStays
        }
        var places = Places()
        for run in ends.indices {
            let length = ends[run] - (run == 0 ? 0 : ends[run - 1])
            places.append(length, in: moved[run] ? newest : epochs[run])
        }
        return places
    }
}
