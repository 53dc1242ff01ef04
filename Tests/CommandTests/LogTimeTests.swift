import ProgramTestSupport

/// The times of `castree log`: of the place where the store is, for people; in UTC for programs.
@Suite struct LogTimeTests {
    let place = Workplace()

    /// A store to which something happened in the middle of two nights, in winter and in summer.
    init() throws {
        try place.castree("init", "--no-sync")
        let lines = [(1_767_225_600, 1), (1_782_864_000, 2)].map { at, number in
            #"{"at":\#(at),"sequence":\#(number),"event":"check","origin":"https://a.example","#
                + #""outcome":"available","version":"\#(number)"}"# + "\n"
        }
        try Data(lines.joined().utf8).write(to: place.url(".castree/events.jsonl"))
    }

    private func log(_ zone: String, _ arguments: String...) throws -> String {
        let answer = try place.ended(0, "log", words: arguments, environment: ["TZ": zone])
        return answer.text
    }

    /// Rules and not names: whether the system knows names does not matter.
    @Test(arguments: [
        ("CET-1CEST,M3.5.0,M10.5.0/3", "2026-01-01T01:00:00+01:00", "2026-07-01T02:00:00+02:00"),
        ("NST3:30NDT,M3.2.0,M11.1.0", "2025-12-31T20:30:00-03:30", "2026-06-30T21:30:00-02:30"),
        ("UTC0", "2026-01-01T00:00:00Z", "2026-07-01T00:00:00Z"),
    ])
    func `are local, by the zone and the season`(zone: String, winter: String, summer: String)
        throws
    {
        let beginnings = try log(zone).split(separator: "\n").map { $0.prefix { $0 != " " } }
        expect(beginnings == [winter[...], summer[...]], "\(beginnings)")
        // What is told can be asked for.
        let since = try log(zone, "--since", summer).split(separator: "\n")
        expect(since.count == 1 && since[0].hasPrefix(summer), "\(since)")
    }

    @Test func `are in UTC if that is asked for, and in JSON`() throws {
        let zone = "CET-1CEST,M3.5.0,M10.5.0/3"
        try expect(log(zone, "--utc"), equals: log("UTC0"))
        try expect(log(zone, "--json"), equals: log("UTC0", "--json"))
        try expect(log(zone, "--json").contains("2026-07-01T00:00:00Z"))
    }
}
