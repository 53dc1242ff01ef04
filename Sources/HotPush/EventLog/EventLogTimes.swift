extension [EventLogEntry] {
    /// The same events, with times that agree with their order, none of them in the future.
    ///
    /// A clock may have been wrong for some lines; the order of the lines is right. The longest increasing series of
    /// times up to now is believed, and every other time becomes the next believed one, or now. Times of a clock that
    /// was not yet set stay, and do not affect the others.
    package func believed(until now: Int64) -> [EventLogEntry] {
        // A line for several events has two times: of the first and of the last.
        var times = flatMap { entry in (entry.since.map { [$0] } ?? []) + [entry.at] }
        /// Where series of each length end: of those of one length, the one with the smallest last time.
        var ends: [Int] = []
        var previous = [Int?](repeating: nil, count: times.count)
        for (place, time) in times.enumerated()
        where time >= EventLogEntry.clockIsSetFrom && time <= now {
            var (low, high) = (0, ends.count)
            while low < high {
                let middle = (low + high) / 2
                if times[ends[middle]] <= time { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = ends[low - 1] }
            if low == ends.count { ends.append(place) } else { ends[low] = place }
        }
        var believed = ends.last
        var next = now
        for place in times.indices.reversed() {
            if place == believed {
                next = times[place]
                believed = previous[place]
            } else if times[place] >= EventLogEntry.clockIsSetFrom {
                times[place] = next
            }
        }
        var place = 0
        return map { entry in
            var entry = entry
            if entry.since != nil {
                entry.since = times[place]
                place += 1
            }
            entry.at = times[place]
            place += 1
            return entry
        }
    }
}
