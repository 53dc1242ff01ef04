import ProgramTestSupport

/// What logrotate(8) does with the log of a server.
@Suite struct AccessLogTests {
    let place = Workplace()

    /// At a terminal SIGHUP says that it has gone.
    static let hasTerminal: Bool = {
        let terminal = open("/dev/tty", O_RDONLY | O_NOCTTY)
        if terminal >= 0 { close(terminal) }
        return terminal >= 0
    }()

    /// Starts each of the two servers in turn.
    private func forEachServer(_ arguments: [String], _ work: (Served) throws -> Void) throws {
        try place.add("1", Release.first)
        try place.castree("activate", "1")
        try place.castree("publish", "1", "site", "--no-sync", "--no-packs")
        try work(Served(place, arguments))
        try work(Served(origin: "site", place, arguments))
    }

    /// Waits for what another thread writes.
    private func wait(until isSo: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(120)
        while try !isSo() {
            try require(ContinuousClock.now < end, "it never came")
            sched_yield()
        }
    }

    private func lines(_ name: String) throws -> Int {
        try place.exists(name) ? place.contents(name).split(separator: "\n").count : 0
    }

    @Test(.enabled(if: !hasTerminal, "a terminal controls these tests"))
    func `after it was moved away, and SIGHUP, it continues in a new file, and no line is lost`()
        throws
    {
        try forEachServer(["--access-log", "log"]) { served in
            var count = 0
            func get() throws {
                try expect(served.get("/nothing.js", ["Accept": "*/*"]).status, equals: 404)
                count += 1
            }
            try get()
            try get()
            let log = place.directory.appending(path: "log")
            let moved = place.directory.appending(path: "log.1")
            // Written by a thread of its own.
            try wait { try lines("log") == 2 }
            try FileManager.default.moveItem(at: log, to: moved)
            // Whoever has not heard the signal continues in the old file.
            try get()
            try wait { try lines("log.1") == 3 }
            expect(!place.exists("log"))
            kill(served.processIdentifier, SIGHUP)
            try wait {
                try get()
                return try lines("log") >= 2
            }
            let ended = try served.end()
            expect(ended.status == 0 && ended.errors.isEmpty, "\(ended)")
            try expect(lines("log") + lines("log.1"), equals: count)
            try FileManager.default.removeItem(at: log)
            try FileManager.default.removeItem(at: moved)
        }
    }

    // docs/maintenance.md, "Root, and other users".
    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func `root begins it for the owner of its directory, also behind links of root's`() throws {
        let directory = place.directory.path
        for name in ["theirs", "roots"] { mkdir("\(directory)/\(name)", 0o755) }
        chown("\(directory)/theirs", 5001, 5001)
        expect(symlink("../theirs/linked", "\(directory)/roots/link"), equals: 0)
        // One that root has made there before.
        try place.write(["before": ""], to: "theirs")
        for (typed, file, user) in [
            ("theirs/log", "theirs/log", 5001), ("roots/link", "theirs/linked", 5001),
            ("theirs/before", "theirs/before", 0), ("roots/log", "roots/log", 0),
        ] as [(String, String, UInt32)] {
            try forEachServer(["--access-log", typed]) { served in
                try expect(served.end().status, equals: 0, "\(typed)")
                try expect(
                    place.fileStatus("\(directory)/\(file)").st_uid, equals: user, "\(typed)")
                if user != 0 { unlink("\(directory)/\(file)") }
            }
        }
    }

    @Test(.enabled(if: !hasTerminal, "a terminal controls these tests"))
    func `without a log SIGHUP changes nothing`() throws {
        try forEachServer([]) { (served) throws in
            kill(served.processIdentifier, SIGHUP)
            try expect(served.get("/nothing.js", ["Accept": "*/*"]).status, equals: 404)
            try expect(served.end().status, equals: 0)
        }
    }

    /// C0 and C1 controls, marks that turn text around, line separators, what looks like an escape.
    @Test("what a client sends cannot steer a terminal that shows the log of either server")
    func steered() throws {
        let hostile = [
            "\u{80}", "\u{85}", "\u{9b}31m", "\u{9f}", "\u{200b}", "\u{200f}", "\u{2028}",
            "\u{2029}",
            "\u{202e}", "\u{2066}", "\u{2069}", "\u{feff}", "\\u{9b}",
        ]
        try forEachServer(["--access-log", "log"]) { served in
            let before = try lines("log")
            for text in hostile {
                _ = try RawAnswer.exchange(
                    served,
                    "GET /a\(text)b HTTP/1.1\r\nHost: localhost:\(served.port)\r\nConnection: close\r\n\r\n"
                )
            }
            try wait { try lines("log") >= before + hostile.count }
            let log = try place.contents("log")
            let isHarmless = log.unicodeScalars.allSatisfy {
                $0 == "\n" || (32...126).contains($0.value)
            }
            expect(isHarmless, "\(log.debugDescription)")
            _ = try served.end()
        }
    }

    /// With --json, too: a log has one form.
    @Test(
        "each line of either server ends with the address that asked, whatever a request says of it"
    )
    func addresses() throws {
        func ends(_ arguments: [String], _ forwarded: String) throws -> [Substring] {
            var ends: [Substring] = []
            try forEachServer(["--access-log", "log"] + arguments) { served in
                let host = "Host: localhost:\(served.port)\r\nConnection: close\r\n"
                _ = try RawAnswer.exchange(
                    served, "GET /a HTTP/1.1\r\n\(host)X-Forwarded-For: \(forwarded)\r\n\r\n")
                // One whose head cannot be read has nothing but its connection.
                _ = try RawAnswer.exchange(
                    served, "GET /% HTTP/1.1\r\n\(host)X-Forwarded-For: \(forwarded)\r\n\r\n")
                _ = try served.end()
                ends += try place.contents("log").split(separator: "\n").compactMap {
                    $0.split(separator: " ").last
                }
                try FileManager.default.removeItem(at: place.directory.appending(path: "log"))
            }
            return ends
        }
        for arguments in [[], ["--json"]] {
            let all = try ends(arguments, "192.0.2.1")
            expect(all, equals: Array(repeating: "127.0.0.1", count: 4), "\(arguments)")
        }
    }

    @Test
    func `a named proxy's X-Forwarded-For is in the log of origin serve, and nothing else is`()
        throws
    {
        try place.add("1", Release.first)
        try place.castree("publish", "1", "site", "--no-sync", "--no-packs")
        let served = try Served(
            origin: "site", place, ["--access-log", "log", "--forwarded-by", "127.0.0.0/8"])
        let cases = [
            ("192.0.2.1", "192.0.2.1"), ("198.51.100.1, 192.0.2.1", "192.0.2.1"),
            ("192.0.2.1, 127.0.0.2", "192.0.2.1"), ("\u{9b}31m", "127.0.0.1"),
            ("a b", "127.0.0.1"), (String(repeating: "1", count: 8000), "127.0.0.1"),
        ]
        for (forwarded, _) in cases {
            _ = try RawAnswer.exchange(
                served,
                "GET /a HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(forwarded)\r\nForwarded: for=192.0.2.9\r\n"
                    + "Connection: close\r\n\r\n")
        }
        try expect(served.end().status, equals: 0)
        let ends = try place.contents("log").split(separator: "\n").compactMap {
            $0.split(separator: " ").last.map(String.init)
        }
        expect(ends, equals: cases.map(\.1))
        try place.ended(
            2, "origin", "serve", "site", "--forwarded-by", "localhost",
            saying: "--forwarded-by takes an address")
    }
}
