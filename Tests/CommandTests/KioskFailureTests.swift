import ProgramTestSupport

/// What goes wrong around `castree serve --updates` in the years that a kiosk stands there.
@Suite(.timeLimit(.minutes(60))) struct KioskFailureTests {
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
        try kiosk.hear("version 1 is downloaded")
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

    @Test func `an empty kiosk says that the first release comes automatically`() throws {
        let kiosk = try Kiosk(place, "http://127.0.0.1:9", ["--pull-option", "--retries=0"])
        expect(kiosk.served.ready.contains("the first release is shown once it is downloaded"))
        try expect(kiosk.served.get().status, equals: 503)
    }

    @Test("updates continue when a running server's program is deleted, as by an upgrade")
    func deletedProgram() throws {
        try place.install(.castree, in: "alone")
        let program = place.url("alone/castree")
        let origin = try place.origin()
        let kiosk = try Kiosk(place, origin.url, ["--every", "1s"], program: program)
        try kiosk.hear("version 1 is downloaded")
        try FileManager.default.removeItem(at: program)
        try place.publish("2")
        try kiosk.hear("version 2 is downloaded")
        try expect(kiosk.served.end().status, equals: 0)
    }

    @Test func `an option that a pull refuses only later is noted, and said`() throws {
        try place.write(["ca.pem": ""], to: ".")
        let kiosk = try Kiosk(
            place, "http://127.0.0.1:9",
            ["--every", "1s", "--pull-option", "--retries=0", "--pull-option", "--cacert=ca.pem"])
        try place.remove("ca.pem")
        try kiosk.hear(
            "unable to update: --cacert takes a file that can be read, not 'ca.pem'")
        let status = try place.device("status", "--json").document(.status)
        expect(status.problems.map(\.code.text), equals: ["usage"])
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
            try kiosk.hear("version \(version) is downloaded")
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
