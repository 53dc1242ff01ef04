import ProgramTestSupport

/// A download that lasts: the kiosk looks at the pointer meanwhile, and what is fetched gives way.
@Suite(.timeLimit(.minutes(60))) struct GivingWayTests {
    let place: Workplace

    init() throws { place = try .offeringFirst() }

    /// A kiosk that looks every second, and has begun to fetch a version 2 that would take minutes.
    private func fetching(_ origin: WebOrigin) throws -> Kiosk {
        let kiosk = try Kiosk(
            showingFirst: place, origin.url,
            ["--every", "1s", "--pull-option", "--limit-rate=20K"])
        try place.add("slow", ["index.html": "slow", "large": PullTests.large])
        try place.publish("slow")
        while try !place.device("status", "--json").text.contains("\"use\":\"fetches\"") {}
        return kiosk
    }

    @Test func `to a newer release, which is not kept waiting`() throws {
        let origin = try place.origin()
        let kiosk = try fetching(origin)
        try place.publish("2")
        try kiosk.hear("version 2 is downloaded")
        expect(!kiosk.lines.contains { $0.contains("version slow is downloaded") })
        try expect(kiosk.visit(), equals: "<h1>two</h1>")
    }

    @Test(arguments: ["/manifests/", "/deliveries/", "/objects/", "/packs/"])
    func `to a withdrawal, whatever does not come`(_ part: String) throws {
        let busy = place.url("busy")
        let origin = try WebOrigin(place.url("site"), environment: ["BUSY": busy.path])
        let kiosk = try Kiosk(showingFirst: place, origin.url, ["--every", "1s"])
        let page = try kiosk.page()
        try Data(part.utf8).write(to: busy)
        try place.add("slow", ["index.html": "slow", "large": PullTests.large])
        let packs = part == "/manifests/" || part == "/objects/" ? ["--no-packs"] : []
        _ = try place.run(.castree, ["publish", "slow", "site", "--no-sync"] + packs)
        let count = try origin.requests().count
        while try !origin.requests().dropFirst(count).contains(where: { $0.contains(part) }) {}
        try place.withdraw("slow")
        try expect(page.hear("up-to-date", "ready").name, equals: "up-to-date")
        expect(!kiosk.lines.contains { $0.contains("version slow is downloaded") })
    }

    @Test(arguments: [true, false])
    func `does not keep what was taken back waiting, nor does what cannot be fetched`(
        _ isHere: Bool
    ) throws {
        let origin = try place.origin()
        let kiosk = try Kiosk(
            showingFirst: place, origin.url,
            ["--switch", "next-start", "--pull-option", "--limit-rate=20K"])
        try place.publish("2")
        let page = try kiosk.askingPage()
        _ = try page.hear("ready")
        try place.withdraw("2")
        try place.add("slow", ["index.html": "slow", "large": PullTests.large])
        try place.publish("slow")
        if !isHere {
            try place.remove("site/objects")
        }
        try expect(page.post("update").status, equals: 202)
        try kiosk.hear("version 2 no longer waits")
        let lifecycle = try place.deviceLifecycle()
        expect(lifecycle.pending.isNull && lifecycle.current == "1")
        expect(!kiosk.lines.contains { $0.contains("version slow is downloaded") })
    }

    @Test func `to a withdrawal, and status says since when nothing came`() throws {
        let origin = try place.origin()
        let kiosk = try fetching(origin)
        let page = try kiosk.page()
        try place.withdraw("slow")
        try expect(page.hear("up-to-date", "ready").name, equals: "up-to-date")
        let status = try place.device("status", "--json").document(.status)
        expect(status.downloads.map(\.version), equals: ["slow"])
        expect(status.downloads.allSatisfy { !$0.fetched && !$0.at.isNull })
        let text = try place.device("status").text
        expect(text.contains("no download since "), "\(text)")
    }
}
