import StorageTestSupport

@testable import HotPush

/// Clocks jump; the order of the log does not.
@Suite("The times of the event log") struct EventLogTimesTests {
    private static let day: Int64 = 86_400
    private static let first: Int64 = 1_760_000_000

    private func entries(_ times: [Int64]) -> [EventLogEntry] {
        times.enumerated().map { number, time in
            EventLogEntry(sequence: Int64(number + 1), at: time, event: .booted(version: "1"))
        }
    }

    @Test func `are believed as they stand while they grow, up to now`() {
        let times = (0..<9).map { Self.first + $0 * Self.day } + [Self.first + 8 * Self.day]
        for now in [times[9], times[9] + 1000 * Self.day] {
            expect(entries(times).believed(until: now).map(\.at), equals: times)
        }
        expect([EventLogEntry]().believed(until: 0), equals: [])
    }

    @Test(
        "are those of the neighbours where a clock was wrong, for fewer lines than it was right"
    )
    func wrong() {
        let times = (0..<12).map { Self.first + $0 * Self.day }
        let now = times[11] + 400 * Self.day
        for wrong in [now + 3650 * Self.day, now + 1, now - Self.day, Self.first - 300 * Self.day] {
            for count in 1...4 {
                for start in 1...(11 - count) {
                    // The more lines are right of those that contradict each other.
                    let others =
                        wrong > now ? 12 : wrong < Self.first ? start : 12 - start - count
                    guard others > count else { continue }
                    var told = times
                    for place in start..<(start + count) { told[place] = wrong + Int64(place) }
                    let believed = entries(told).believed(until: now).map(\.at)
                    for place in told.indices {
                        let isWrong = (start..<(start + count)).contains(place)
                        let right = isWrong ? times[start + count] : times[place]
                        expect(
                            believed[place], equals: right, "\(wrong) \(count) \(start) \(place)")
                    }
                }
            }
        }
        // Nothing follows: it was at some time until now.
        expect(
            entries([times[0], now + 5]).believed(until: now).map(\.at), equals: [times[0], now])
    }

    @Test func `that no set clock told stay, and change no other`() {
        let times = [60, Self.first, 90, 10, Self.first + Self.day]
        expect(entries(times).believed(until: Self.first + 2 * Self.day).map(\.at), equals: times)
        // While the clock is not set, all others are of now.
        expect(entries(times).believed(until: 100).map(\.at), equals: [60, 100, 90, 10, 100])
    }

    @Test(
        "of a line that stands for several are two: a last that is wrong does not take the first with it"
    )
    func runs() {
        let now = Self.first + 100 * Self.day
        var told = entries([Self.first, now + 3650 * Self.day, now - Self.day])
        (told[1].times, told[1].since) = (900, Self.first + Self.day)
        var believed = told.believed(until: now)
        expect(believed[1].since, equals: Self.first + Self.day)
        expect(believed[1].at, equals: now - Self.day)
        // A first answer while the clock was ahead by weeks, then the same for months.
        told = entries([Self.first + 50 * Self.day, now - Self.day])
        (told[1].times, told[1].since) = (900, Self.first + Self.day)
        believed = told.believed(until: now)
        expect(believed.map(\.at), equals: [Self.first + Self.day, now - Self.day])
    }
}
