import ProgramTestSupport

/// What `castree status` says of updates that fail: soon enough, and not before somebody is needed.
@Suite struct FailingUpdateTests {
    let place = Workplace()

    private func status() throws -> JSON { try place.status() }

    /// The events of an origin that was asked; each how many seconds ago, and the code of what is wrong then.
    static let histories: [(name: String, events: [(ago: Int64, event: String)], code: String?)] = [
        ("offline for a day", offline(times: 96, since: 86_400), nil),
        ("offline for eight days", offline(times: 768, since: 8 * 86_400), "noAnswer"),
        ("offline since the clock told no time", [(1 << 60, offline), (10, offline)], nil),
        ("two failures", [(7200, failed), (60, failed)], nil),
        ("three failures in a minute", [(60, failed), (40, failed), (20, failed)], nil),
        (
            "three failures in two hours", [(7200, failed), (60, failed), (0, failed)],
            "failingUpdates"
        ),
        (
            "three failures, the first offline", [(7200, offline), (60, failed), (0, failed)],
            "failingUpdates"
        ),
        ("failures that are over", [(7200, failed), (60, failed), (9, failed), (5, nothing)], nil),
        (
            "downloads that break off",
            [
                (7200, available), (7199, broken), (60, available), (59, broken), (9, available),
                (8, broken),
            ], "failingUpdates"
        ),
        (
            "two downloads that break off, each tried twice",
            [
                (7200, available), (7199, broken), (7198, broken), (60, available), (59, broken),
                (58, tried),
            ], nil
        ),
        (
            "a download after failures",
            [(7200, failed), (60, failed), (50, failed), (9, available), (8, pending)], nil
        ),
        ("a disk too small for the update", [(5, available), (4, tooSmall)], "outOfSpace"),
        ("a disk that fills while it comes", [(5, available), (4, filled)], "outOfSpace"),
        ("keys that nobody trusts here", [(4, untrusted)], "untrusted"),
        ("keys that nobody trusts, then no network", [(4, untrusted), (3, offline)], "untrusted"),
        ("other failures, then a disk too small", [(9, failed), (4, tooSmall)], "outOfSpace"),
        ("keys that are trusted by now", [(9, untrusted), (4, nothing)], nil),
        (
            "trusted by now, and the download broke off",
            [(9, untrusted), (4, available), (3, broken)], nil
        ),
        (
            "a disk too small that was offered it again",
            [(10, available), (9, tooSmall), (4, available)],
            "outOfSpace"
        ),
        (
            "a disk large enough by now",
            [(10, available), (9, tooSmall), (4, available), (3, pending)], nil
        ),
        (
            "a disk too small, then what waited", [(9, available), (8, tooSmall), (4, old)],
            "outOfSpace"
        ),
        ("keys that nobody trusts, then what waited", [(9, untrusted), (4, old)], "untrusted"),
        ("a release that is asked for by name", [(9, untrusted + release)], "untrusted"),
        ("another origin after keys that nobody trusts", [(9, untrusted), (4, other)], nil),
        (
            "another origin after failures",
            [(7200, failed), (60, failed), (50, failed), (9, other)], nil
        ),
    ]

    /// The same beside what else of the origin was asked for last, which `asked` shows.
    static let otherHistories:
        [(name: String, events: [(ago: Int64, event: String)], code: String?)] = [
            (
                "keys that nobody trusts, then another channel",
                [(9, untrusted), (5, available + beta), (4, came)], "untrusted"
            ),
            (
                "keys that nobody trusts, then an older release",
                [(9, untrusted), (5, nothing + release)], "untrusted"
            ),
            (
                "another channel that failed once", [(9, untrusted + beta), (4, nothing)],
                "untrusted"
            ),
            ("another channel, two days ago", [(172_800, untrusted + beta), (4, nothing)], nil),
            ("an older release that failed once", [(9, untrusted + release), (4, nothing)], nil),
        ]

    private static let origin = #""event":"check","origin":"https://a.example""#
    private static let offline = origin + #","outcome":"offline","reason":"no route""#
    private static let failed = origin + #","outcome":"failed","reason":"not a pointer""#
    private static let untrusted =
        origin + #","outcome":"failed","reason":"key a is not trusted","code":"untrusted""#
    private static let tooSmall =
        #""event":"failed","deed":"download","code":"outOfSpace","ofStore":true,"#
        + #""message":"not enough free space""#
    private static let filled = broken + #","code":"outOfSpace","ofStore":true"#
    private static let nothing = origin + #","outcome":"nothingNew""#
    private static let available = origin + #","outcome":"available","version":"9""#
    private static let other =
        #""event":"check","origin":"https://b.example","outcome":"nothingNew""#
    private static let pending = #""event":"pending","version":"9""#
    private static let old = #""event":"switch","version":"8","from":"7""#
    private static let beta = #","channel":"beta""#
    private static let release = #","release":"8""#
    private static let tried = #""event":"failed","deed":"update","message":"cut""#
    private static let came = broken.replacing("failed", with: "finished")
    private static let broken =
        #""event":"downloadEnded","version":"9","outcome":"failed","reason":"cut","files":0,"bytes":0,"#
        + #""reusedBytes":0,"resumedBytes":0,"requests":1,"milliseconds":1"#
    private static func offline(times: Int, since: Int64) -> [(Int64, String)] {
        [(0, offline + #","times":\#(times),"since":NOW-\#(since)"#)]
    }

    @Test func `updates that fail are told, and a problem once somebody is needed`() throws {
        try place.castree("init", "--no-sync")
        let now = Int64(Date().timeIntervalSince1970)
        for history in Self.histories + Self.otherHistories {
            try write(history.events, now)
            let status = try status()
            let expected = history.code.map { [$0] } ?? []
            expect(status.problems.map(\.code), equals: expected, "\(history.name)")
            if history.code != nil, Self.histories.contains(where: { $0.name == history.name }) {
                let asked = try place.castree("status").text.split(separator: "\n")
                    .first { $0.hasPrefix("asked") }
                expect(asked?.contains(" failed since "), equals: true, "\(history.name)")
            }
        }
    }

    /// Makes the event log tell a history.
    private func write(_ events: [(ago: Int64, event: String)], _ now: Int64) throws {
        var text = ""
        for (number, (ago, event)) in events.enumerated() {
            var event = event
            if let since = event.firstRange(of: "NOW-") {
                let number = event[since.upperBound...].prefix { $0.isNumber }
                event.replaceSubrange(
                    since.lowerBound..<number.endIndex, with: "\(now - (Int64(number) ?? 0))")
            }
            text += #"{"at":\#(max(0, now - ago)),"sequence":\#(number + 1),\#(event)}"# + "\n"
        }
        try Data(text.utf8).write(to: place.directory.appending(path: ".castree/events.jsonl"))
    }

    @Test("a clock that was ahead for one answer neither silences nor raises a problem")
    func clockAhead() throws {
        try place.castree("init", "--no-sync")
        let now = Int64(Date().timeIntervalSince1970)
        let ahead: Int64 = 10 * 365 * 86_400
        // Problems that time brings: the first of the failures was told by a clock that was ahead, or the origin's answer before.
        let failing = Self.histories + Self.neighbours
        for history in failing where ["noAnswer", "failingUpdates"].contains(history.code) {
            for event in [history.events[0].event, Self.nothing] {
                var event = event
                if let times = event.firstRange(of: ",\"times\"") {
                    event = String(event[..<times.lowerBound])
                }
                try write([(-ahead, event)] + history.events, now)
                let codes = try status().problems.map(\.code)
                expect(codes, equals: [history.code ?? ""], "\(history.name) \(event)")
            }
        }
        // An origin that another has replaced does not come back for ten years.
        try write(
            [(9, Self.other), (8, Self.failed), (7, Self.other), (-ahead, Self.untrusted)]
                + (0..<3).map { (200_000 - $0, Self.other) }, now)
        try expect(status().problems.map(\.code), equals: [])
        let asked = try place.castree("status").text.split(separator: "\n")
            .first { $0.hasPrefix("asked") }
        expect(asked?.contains("https://b.example"), equals: true, "\(asked ?? "")")
    }

    /// What a server noted, and what it came to, by the order of the log and not by clocks.
    @Test func `what could not be shown is wrong until a check, whatever a clock said`() throws {
        try place.add("1", Release.first, "--activate")
        let now = Int64(Date().timeIntervalSince1970)
        let damage =
            #""event":"failed","deed":"show","code":"damagedObject","ofStore":true,"message":"wrong bytes""#
        for ago: Int64 in [-10 * 365 * 86_400, 0, 10 * 365 * 86_400] {
            // Numbers begin anew.
            let file = place.directory.appending(path: ".castree/last-check.json")
            try? FileManager.default.removeItem(at: file)
            try write([(5, Self.nothing), (ago, damage)], now)
            try expect(status().problems.map(\.code), equals: ["damagedObject"], "\(ago)")
            try place.done("fsck")
            try expect(status().well.isTrue, "\(ago)")
            // The check's own clock was wrong; then it happens again.
            let check = try String(contentsOf: file, encoding: .utf8)
            try Data(
                check.replacing(/"(ended|wholeEnded)At":\d+/) {
                    "\"\($0.1)At\":\(now - ago)"
                }.utf8
            ).write(to: file)
            try expect(status().well.isTrue, "\(ago)")
            try write([(5, Self.nothing), (9, damage), (2, damage)], now)
            try expect(status().problems.map(\.code), equals: ["damagedObject"], "\(ago)")
        }
    }

    @Test
    func `a page that was kept is said for a day, also if a clock was ahead when it was seen`()
        throws
    {
        try place.add("1", Release.first, "--activate")
        let now = Int64(Date().timeIntervalSince1970)
        let stale = #""event":"stalePage","version":"1""#
        for (ago, code) in [(2 * 86_400, nil), (3600, "stalePage")] as [(Int64, String?)] {
            try write([(-10 * 365 * 86_400, stale), (ago, Self.nothing)], now)
            try expect(status().problems.map(\.code), equals: [code].compactMap { $0 })
        }
        // Neither does the log show what is old among what is new, nor hide that.
        try write(
            [(-10 * 365 * 86_400, stale), (2 * 86_400, Self.pending), (60, Self.nothing)], now)
        let lines = try place.castree("log", "--since", "1d").text.split(separator: "\n")
        expect(lines.count == 1 && lines[0].contains("nothing new"), "\(lines)")
    }

    @Test func `a version is held back by what a server refuses, until a page has confirmed it`()
        throws
    {
        try place.add("1", Release.first, "--activate")
        try place.add("2", Release.second)
        try place.done("activate", "2", "--at-next-boot")
        let now = Int64(Date().timeIntervalSince1970)
        let left =
            #""event":"rollback","from":"2","version":"1","reason":"it was not confirmed, and the server had "#
            + #"refused files, or a connection to the bridge, that may be its page's""#
        let confirmed = #""event":"confirm","version":"2""#
        let other = left.replacing("had refused", with: "had")
        let older = left.replacing(#""2""#, with: #""1.5""#)
        for events in [[left, confirmed], [other], [older]] {
            try write(events.map { (60, $0) }, now)
            try expect(status().problems.map(\.code), equals: [], "\(events)")
        }
        try write([(99, left), (90, confirmed), (80, left), (70, other), (60, left)], now)
        let problem = try require(status().problems.first)
        expect(problem.code == "heldBack" && problem.version == "2")
        expect(problem.message.text.contains("2 starts"), "\(problem)")
    }

    /// An origin A that fails, and another that is asked beside it: `nil` if A counts no more.
    static let neighbours: [(name: String, events: [(ago: Int64, event: String)], code: String?)] =
        [
            (
                "asked in turn",
                [
                    (7200, failed), (7100, other), (60, failed), (50, other), (9, failed),
                    (5, other),
                ],
                "failingUpdates"
            ),
            ("asked in turn, untrusted", [(99, other), (9, untrusted), (5, other)], nil),
            (
                "asked in turn, untrusted each time",
                [(99, untrusted), (50, other), (9, untrusted), (5, other)], "untrusted"
            ),
            (
                "asked in turn, well by now",
                [
                    (7200, failed), (7100, other), (60, failed), (50, other), (9, nothing),
                    (5, other),
                ],
                nil
            ),
            (
                "asked no more for a day",
                [
                    (200_000, failed), (190_000, other), (180_000, failed), (170_000, other),
                    (90_000, failed), (5, other),
                ], nil
            ),
        ]

    @Test func `an origin that fails is not forgotten because another is asked, too`() throws {
        try place.castree("init", "--no-sync")
        let now = Int64(Date().timeIntervalSince1970)
        for history in Self.neighbours {
            try write(history.events, now)
            let status = try status()
            let expected = history.code.map { [$0] } ?? []
            expect(status.problems.map(\.code), equals: expected, "\(history.name)")
            expect(
                status.problems.allSatisfy { $0.message.text.contains("https://a.example") },
                "\(history.name)")
        }
    }
}
