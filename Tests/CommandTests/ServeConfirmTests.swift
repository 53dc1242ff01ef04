import ProgramTestSupport

// Who may confirm a version at a running server.
@Suite struct ServeConfirmTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first)
        try place.castree("activate", "1")
    }

    private var knownGood: [String] {
        get throws { try place.lifecycle().knownGood.map(\.text) }
    }

    @Test func `a confirmation without the page's session is refused, with it it counts`() throws {
        let served = try Served(place, ["--confirm-within", "10m"])
        try expect(served.get().status, equals: 200)
        let bare = try served.post("/_castree/confirm")
        expect(bare.status, equals: 403)
        expect(bare.body.contains("?session=SESSION"))
        try expect(knownGood.isEmpty)
        try expect(served.confirm(), equals: 204)
        try expect(knownGood, equals: ["1"])
    }

    @Test("with a token another port of this machine confirms, connects and shows nothing")
    func otherPort() throws {
        let served = try Served(
            place,
            ["--confirm-within", "10m", "--token", "--proxy", "/api=http://127.0.0.1:1"])
        let query = try require(served.url.split(separator: "?").last)
        try expect(served.get("/?\(query)").status, equals: 200)
        // The browser gives the cookie along to every port; what it says of itself is all that differs.
        let cookie = String(query)
        let session = try served.beginSession(["Cookie": cookie])
        let confirm = "/_castree/confirm?session=\(session)"
        let foreign = ["Cookie": cookie, "Origin": "http://localhost:1"]
        try expect(served.post(confirm, "", foreign).status, equals: 403)
        try expect(served.post("/_castree/bridge", "5\nH 1 -", foreign).status, equals: 403)
        try expect(served.post("/api/x", "", foreign).status, equals: 403)
        let script = ["Cookie": cookie, "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"]
        try expect(served.get("/api/x", script).status, equals: 403)
        try expect(
            served.get("/_castree/bridge?session=\(session)&ack=0", script).status, equals: 403)
        for path in ["/", "/js/app.js", "/_castree/bridge.js", "/_castree/status"] {
            let answer = try served.get(path, ["Cookie": cookie])
            expect(answer.status, equals: 200)
            expect(answer.head.contains("Cross-Origin-Resource-Policy: same-origin"), "\(path)")
        }
        try expect(knownGood.isEmpty)
        try expect(served.post(confirm, "", ["Cookie": cookie]).status, equals: 204)
    }

    @Test func `what others may embed can be said, and without a token everybody may`() throws {
        try expect(!Served(place).get("/js/app.js").head.contains("Resource-Policy"))
        let served = try Served(
            place, ["--token", "--header", "cross-origin-resource-policy: same-site"])
        let query = try require(served.url.split(separator: "?").last)
        let head = try served.get("/js/app.js", ["Cookie": String(query)]).head
        expect(head.contains("cross-origin-resource-policy: same-site"))
        expect(!head.contains("same-origin\r\nCross-Origin"))
        expect(!head.contains("Cross-Origin-Resource-Policy"))
    }
}
