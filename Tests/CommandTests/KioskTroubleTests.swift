import ProgramTestSupport

/// What goes wrong around `castree serve --updates` in the years that a kiosk stands there.
@Suite(.timeLimit(.minutes(60))) struct KioskTroubleTests {
    let place: Workplace

    init() throws { place = try .offeringFirst() }

    @Test func `answers that say the same are one event, however often they come`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(showingFirst: place, origin.url)
        let page = try kiosk.page()
        for _ in 0..<3 {
            try expect(page.post("update").status, equals: 202)
            _ = try page.hear("up-to-date")
        }
        let checks = try place.device("log", "--json").document(.events)
            .filter { $0.event == "check" }
        expect(checks.map(\.times) == [1, 3] && !checks[1].since.isNull, "\(checks)")
        expect(checks[1].sentence.text.hasSuffix("nothing new (3 times in a row)"), "\(checks)")
        try expect(place.device("status").text.contains("nothing new"))
    }

    @Test func `that an origin answers again after failures is said, and noted`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(showingFirst: place, origin.url, ["--pull-option", "--retries=0"])
        let page = try kiosk.page()
        let site = place.directory.appending(path: "site")
        let away = place.directory.appending(path: "away")
        try FileManager.default.moveItem(at: site, to: away)
        for _ in 0..<2 {
            try expect(page.post("update").status, equals: 202)
            _ = try page.hear("update-failed")
        }
        try FileManager.default.moveItem(at: away, to: site)
        try expect(page.post("update").status, equals: 202)
        _ = try page.hear("up-to-date")
        try expect(kiosk.hear("answers again after 2 failures in ").contains(origin.url))
        try expect(place.device("log").text.contains("answers again after 2 failures in "))
    }

    @Test func `an unconfirmed first version does not keep its successor away`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(place, origin.url, ["--confirm-within", "1s"])
        try kiosk.hear("version 1 is here")
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        try place.publish("2")
        let page = try kiosk.askingPage()
        // Nothing confirms it, and there is no version to go back to. The time may be over before the other has come.
        let news = try [page.hear("ready", "version-ready"), page.hear("ready", "version-ready")]
        try kiosk.hear("no version to go back to")
        expect(
            news.contains { $0.name == "version-ready" && $0.detail["version"] as? String == "2" })
        try expect(page.post("update").status, equals: 202)
        try expect(page.hear("ready").detail["waitsFor"] == nil)
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
    }

    @Test func `an empty kiosk says that the first release comes by itself`() throws {
        let kiosk = try Kiosk(place, "http://127.0.0.1:9", ["--pull-option", "--retries=0"])
        expect(kiosk.served.ready.contains("the first release is shown once it is downloaded"))
        try expect(kiosk.served.get().status, equals: 503)
    }

    // MARK: The process that fetches

    private static let address = "http://127.0.0.1:9"

    private var program: URL { place.directory.appending(path: "alone/castree") }

    /// Lets a shell script fetch from now on, as an upgrade replaces a program.
    private func fetch(by script: String) throws {
        try FileManager.default.removeItem(at: program)
        try place.write(["castree": "#!/bin/sh\n\(script)\n"], to: "alone")
    }

    /// A kiosk for which a shell script fetches, once it has begun.
    private func kiosk(fetchingBy script: String) throws -> Kiosk {
        try place.install(.castree, in: "alone")
        let kiosk = try Kiosk(
            place, Self.address, ["--every", "1s", "--pull-option", "--retries=0"], program: program
        )
        try fetch(by: script)
        return kiosk
    }

    /// A library that takes as long to load as somebody has it open to write.
    private func slowLibrary() throws -> (environment: [String: String], path: String) {
        let directory = place.directory.appending(path: "slow")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let path = directory.appending(path: "libcurl.so.4").path
        expect(mkfifo(path, 0o600), equals: 0)
        return (["LD_LIBRARY_PATH": directory.path], path)
    }

    @Test func `a server that is told to end while its options are tried ends at once`() throws {
        let slow = try slowLibrary()
        let server = try Running(
            .castree, ["serve", "--store", "device", "--updates", Self.address],
            in: place.directory, environment: slow.environment)
        // Opened by now by the one that tries them.
        let library = try require(FileHandle(forWritingAtPath: slow.path))
        server.signal(SIGTERM)
        // 1 would say that it had said nothing for too long.
        try expect(server.finished().status, equals: 130)
        expect(!place.exists("device"))
        try library.close()
    }

    @Test func `a program that is gone is a failure of the store, and not of the origin`() throws {
        let kiosk = try kiosk(fetchingBy: "exit 0")
        try FileManager.default.removeItem(at: program)
        try kiosk.hear(
            "the store cannot be updated", "castree could not be run from", "alone/castree")
        let reason = "castree could not be run from \u{2026}: No such file or directory"
        let status = try place.device("status", "--json")
        expect(status.status, equals: 1)
        let problem = try require(status.document(.status).problems.first)
        expect(problem.code.text, equals: "noFetchingProgram")
        expect(problem.message.text.hasPrefix("the store cannot take updates"), "\(problem)")
        expect(problem.message.text.hasSuffix(reason), "\(problem)")
        let log = try place.device("log", "--last", "1").text
        expect(log.contains("the store failed when \(Self.address) was asked: \(reason)"), "\(log)")
        try expect(kiosk.served.end().status, equals: 0)
    }

    @Test("updates go on when a running server's program is replaced, as by an upgrade")
    func replacedProgram() throws {
        try place.install(.castree, in: "alone")
        // Found in PATH: its own name does not say where it is.
        try place.write(
            ["by-name": "#!/bin/sh\nPATH=\"$PWD/alone:$PATH\" exec castree \"$@\"\n"], to: ".")
        let kiosk = try Kiosk(
            place, Self.address, ["--every", "1s", "--pull-option", "--retries=0"],
            program: place.directory.appending(path: "by-name"))
        try kiosk.hear("unable to update")
        try fetch(
            by: "echo '{\"warning\":{\"message\":\"the new one asks\"}}'; "
                + "echo '{\"version\":null,\"reasons\":[]}'")
        try kiosk.hear("the new one asks")
        try expect(kiosk.served.end().status, equals: 0)
    }

    @Test func `updates go on although something still holds the output of a child`() throws {
        let kiosk = try kiosk(
            fetchingBy: """
                echo '{"warning":{"message":"asked"}}'
                [ -e left ] || { sleep 300 & echo $! > left; }
                echo '{"version":null,"reasons":[]}'
                """)
        for _ in 0..<2 { try kiosk.hear("asked") }
        // It is still there.
        let left = try Int32(place.contents("left").trimmingCharacters(in: .newlines))
        expect(kill(try require(left), SIGKILL), equals: 0)
        try expect(kiosk.served.end().status, equals: 0)
    }

    @Test func `that the process that fetches is stopped is said, and it may go on`() throws {
        let kiosk = try kiosk(
            fetchingBy: """
                [ -e went ] || { touch went; kill -STOP $$; }
                echo '{"warning":{"message":"it goes on"}}'
                echo '{"version":null,"reasons":[]}'
                """)
        let line = try kiosk.hear("castree pull (process ", "is stopped")
        let process = try require(
            line.firstRange(of: "kill -CONT ").flatMap { range in
                Int32(line[range.upperBound...].prefix { $0.isNumber })
            })
        try expect(place.device("status").text.contains("is stopped"))
        kill(process, SIGCONT)
        try kiosk.hear("it goes on")
        try expect(kiosk.served.end().status, equals: 0)
    }

    @Test func `what keeps the process that fetches from running is noted, and said`() throws {
        let kiosk = try kiosk(fetchingBy: "echo 'libc.so.6: not found'; exit 127")
        try kiosk.hear("libc.so.6: not found")
        try expect(place.device("log").text.contains("libc.so.6: not found"))
        try expect(kiosk.served.end().status, equals: 0)
    }

    // MARK: The clock

    @Test func `a clock that begins in 1970, jumps ahead and is set back stops nothing`() throws {
        let now = Int64(Date().timeIntervalSince1970)
        let clock = try SteppedClock(in: place.directory, at: 60)
        try place.add("3", ["index.html": "<h1>three</h1>"])
        let origin = try place.origin()
        let kiosk = try Kiosk(
            showingFirst: place, origin.url, ["--every", "1s"], environment: clock.environment)
        for (version, page, time) in [
            ("2", "<h1>two</h1>", now + 4 * 365 * 86_400), ("3", "<h1>three</h1>", now),
        ] {
            try clock.set(time)
            try place.publish(version)
            try kiosk.hear("version \(version) is here")
            try expect(kiosk.visit(), equals: page)
            try expect(kiosk.confirm(), equals: 204)
            try kiosk.hear("version \(version) is confirmed")
        }
        try expect(kiosk.served.end().status, equals: 0)
        let status = try place.device("status")
        expect(status.status == 0 && status.text.contains("nothing to do"), "\(status)")
        let log = try place.device("log").text
        expect(log.contains("1970-01-01T00:01"), "\(log)")
    }
}
