import ProgramTestSupport

/// What `castree serve --updates` tells the pages of a kiosk: sentences for people, codes for programs.
@Suite(.timeLimit(.minutes(60))) struct PageNewsTests {
    let place: Workplace

    init() throws { place = try .offeringFirst() }

    @Test func `each sentence has a code beside it`() throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(
            showingFirst: place, origin.url,
            ["--switch", "next-start", "--pull-option", "--retries=0"])
        let page = try kiosk.page()
        /// What an update comes to: the codes of one event.
        func update() throws -> [String] {
            try expect(page.post("update").status, equals: 202)
            let heard = try page.hear("ready", "up-to-date", "update-failed").detail
            let codes = heard["codes"] as? [String] ?? []
            expect(codes.count, equals: (heard["reasons"] as? [String] ?? []).count)
            expect((heard["code"] == nil) == (heard["message"] == nil))
            expect((heard["waitsForCode"] == nil) == (heard["waitsFor"] == nil))
            return codes + [heard["code"], heard["waitsForCode"]].compactMap { $0 as? String }
        }
        try expect(update(), equals: ["current"])
        try place.publish("2", "--group", "testers")
        try place.withdraw("1")
        try expect(update(), equals: ["passedOver"])
        try place.publish("2")
        try expect(update(), equals: ["nextStart"])
        try place.withdraw("2")
        try expect(update(), equals: ["takenBack"])
        try expect(update(), equals: ["nothingNew"])
        try place.publish("2")
        try place.reject("2")
        try expect(update(), equals: ["banned"])
        origin.stop()
        try expect(update(), equals: ["network"])
    }

    @Test(arguments: [
        ("background:1h", "background"), ("next-navigation", "confirmation"),
        ("next-start", "nextStart"),
    ])
    func `what a version waits for has a code`(rule: String, code: String) throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(place, origin.url, ["--switch", rule, "--confirm-within", "10m"])
        try kiosk.hear("version 1 is downloaded")
        try kiosk.visit()
        if code != "confirmation" { try expect(kiosk.confirm(), equals: 204) }
        try place.publish("2")
        let page = try kiosk.askingPage()
        let ready = try page.hear("ready").detail
        expect(ready["waitsForCode"] as? String == code, "\(ready)")
    }

    @Test(arguments: [false, true])
    func `the page that comes back is told once what failed`(isRestarted: Bool) throws {
        let origin = try place.origin()
        let first = try Kiosk(place, origin.url, ["--confirm-within", "1s"])
        try first.hear("version 1 is downloaded")
        while try first.confirm() != 204 { try first.visit() }
        try place.publish("2")
        let page = try first.page()
        try expect(page.post("update").status, equals: 202)
        _ = try page.hear("ready")
        try expect(first.visit(), equals: "<h1>two</h1>")
        var kiosk = first
        if isRestarted {
            // It falls with the version that it shows.
            try expect(first.served.end(SIGKILL).status, equals: -SIGKILL)
            kiosk = try Kiosk(place, origin.url, ["--confirm-within", "10m"])
        } else {
            try kiosk.hear("version 2 was rolled back")
        }
        try expect(kiosk.visit(), equals: "<h1>one</h1>")
        let back = try kiosk.page()
        let told = try back.hear("rolled-back").detail
        expect(told["version"] as? String == "2", "\(told)")
        expect("\(told["reason"] ?? "")".contains(" "), "\(told)")
        expect(told["own"] == nil)
        try kiosk.visit()
        let next = try kiosk.page()
        try expect(next.post("check").status, equals: 202)
        _ = try next.hear("up-to-date", "ready", "available")
        expect(!next.names.contains("rolled-back"))
    }

    @Test func `progress begins with the first byte that is fetched`() throws {
        let place = Workplace()
        let shared = String(repeating: "0123456789abcdef", count: 5_000)
        try place.add("1", ["index.html": "<h1>one</h1>", "shared": shared])
        try place.publish("1")
        let origin = try place.origin()
        // The first version takes two seconds, the second forty: far longer than a machine stands still.
        let kiosk = try Kiosk(
            showingFirst: place, origin.url, ["--pull-option", "--limit-rate=40K"])
        let new = String(repeating: "fedcba9876543210", count: 100_000)
        let files = ["index.html": "<h1>two</h1>", "shared": shared, "new": new]
        try place.add("2", files)
        try place.publish("2")
        let page = try kiosk.askingPage()
        let first = try page.hear("progress").detail
        let (done, total) = (first["done"] as? Int ?? .max, first["total"] as? Int ?? 0)
        expect(first["version"] as? String == "2", "\(first)")
        // Of what is shared nothing counts.
        expect(done < total && total <= new.utf8.count + 12, "\(first)")
    }
}
