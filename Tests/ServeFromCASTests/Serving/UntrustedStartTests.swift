import StorageTestSupport

@testable import ServeFromCAS

// What Chromium sends over plain http to a name other than localhost, which says nothing of the page behind it. A
// page of another site that keeps its address to itself (`no-referrer`) sends no cookie (`Lax`), and keeps none.
@Suite("Where browsers do not say what they load, a start")
struct UntrustedStartTests {
    private static let accept = (
        "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"
    )

    /// What a page of another site makes a browser send.
    enum Foreign: CaseIterable {
        case frame, fetch
        /// The app in a frame that runs its scripts, and goes to its own next page.
        case frameGoingOn

        func fields(_ origin: String) -> [(String, String)] {
            switch self {
            case .frame: [("Upgrade-Insecure-Requests", "1"), accept]
            case .fetch: [("Accept", "text/html")]
            case .frameGoingOn:
                [("Upgrade-Insecure-Requests", "1"), accept, ("Referer", origin + "/")]
            }
        }
    }

    private let store: TemporaryStore

    init() throws {
        store = try .app(good: "1")
        try store.versions.activateAtNextBoot("2")
    }

    private func app(_ other: TemporaryStore? = nil) throws -> TestApp {
        try TestApp(other ?? store) {
            $0.confirmation = .seconds(2000)
            $0.hosts = ["kiosk.example"]
        }
    }

    private func ask(
        _ browser: TestBrowser, _ target: String, _ fields: [(String, String)], page: String? = nil
    ) throws -> TestResponse {
        let host = "kiosk.example:\(browser.port)"
        let referrer = page.map { [("Referer", "http://\(host)\($0)")] } ?? []
        return try browser.ask("GET", target, [("Host", host)] + fields + referrer)
    }

    /// A navigation of the kiosk's own: nobody has sent it here.
    @discardableResult
    private func navigate(_ browser: TestBrowser) throws -> String {
        try ask(browser, "/help/", [("Upgrade-Insecure-Requests", "1"), Self.accept]).text
    }

    /// A visitor of another site, whose browser drops the cookie.
    private func open(_ foreign: Foreign, _ app: TestApp) throws {
        let visitor = try app.browser()
        let fields = foreign.fields("http://kiosk.example:\(app.port)")
        _ = try ask(visitor, "/", fields)
        visitor.cookies = [:]
        for target in ["/app.js", "/_castree/bridge.js", "/favicon.ico"] {
            _ = try ask(visitor, target, [("Accept", "*/*")])
            _ = try ask(visitor, target, [("Accept", "*/*")], page: "/")
        }
    }

    private var lifecycle: Lifecycle { get throws { try store.reopened().lifecycle() } }

    @Test("by a page of another site counts nothing, in no process", arguments: Foreign.allCases)
    func foreign(_ foreign: Foreign) async throws {
        for _ in 1...3 {
            let app = try app()
            try open(foreign, app)
            app.look(after: .seconds(2001))
            // Again, it starts nothing in this process.
            try open(foreign, app)
            app.look(after: .seconds(4002))
            let lifecycle = try lifecycle
            expect(lifecycle.current, equals: "1")
            expect(lifecycle.pending, equals: "2")
            expect(lifecycle.attempts.map(\.failedAttempts), equals: [])
            expect(lifecycle.bad.isEmpty)
            expect(app.notices.all.count { $0.contains("another site may have") }, equals: 1)
            await app.stop()
        }
    }

    @Test(
        "by such a page is over when a page of the kiosk's own navigates, which starts the version")
    func afterwards() throws {
        let app = try app()
        let kiosk = try app.browser()
        // None waits while the older page begins.
        try store.versions.activateAtNextBoot("1")
        try expect(navigate(kiosk).contains("help of one"))
        try store.versions.activateAtNextBoot("2")
        try open(.frame, app)
        app.look(after: .seconds(2001))
        try expect(navigate(kiosk).contains("help of two"))
        try expect(lifecycle.attempts.map(\.failedAttempts), equals: [1])
        app.look(after: .seconds(4002))
        try expect(lifecycle.current, equals: "1")
        try expect(lifecycle.attempts.map(\.failedAttempts), equals: [1])
    }

    @Test(
        "is the kiosk's own once its browser asks for a file with the cookie, and has the full time then",
        arguments: ["/app.js", "/_castree/bridge.js", "/favicon.ico"])
    func own(_ file: String) async throws {
        for failedAttempt in 1...2 {
            let app = try app()
            // By itself, or to what another site's page has started a while ago.
            if failedAttempt == 2 {
                try open(.frame, app)
                app.look(after: .seconds(1500))
            }
            let kiosk = try app.browser()
            try expect(navigate(kiosk).contains("help of two"))
            try expect(
                lifecycle.attempts.map(\.failedAttempts).first ?? 0, equals: failedAttempt - 1)
            _ = try ask(kiosk, file, [("Accept", "*/*")], page: "/help/")
            try app.commit()
            try expect(lifecycle.attempts.map(\.failedAttempts), equals: [failedAttempt])
            app.look(after: .seconds(1999))
            try expect(lifecycle.current, equals: "2")
            app.look(after: .seconds(failedAttempt == 1 ? 2001 : 3501))
            try expect(lifecycle.current, equals: "1")
            try expect(lifecycle.bad.map(\.version), equals: failedAttempt == 1 ? [] : ["2"])
            await app.stop()
        }
    }

    @Test func `is confirmed by the page of a browser that comes for the first time`() throws {
        let app = try app()
        let kiosk = try app.browser()
        try expect(navigate(kiosk).contains("help of two"))
        _ = try ask(kiosk, "/_castree/bridge.js", [("Accept", "*/*")], page: "/help/")
        try expect(kiosk.confirm(), equals: 204)
        try expect(lifecycle.knownGood.first, equals: "2")
    }

    @Test func `by a browser that keeps no cookies is rolled back, and made once in a process`()
        throws
    {
        let app = try app()
        for page in ["two", "one", "one"] {
            try expect(navigate(app.browser()).contains("help of \(page)"))
            app.look(after: .seconds(2001))
        }
        try expect(lifecycle.attempts.map(\.failedAttempts), equals: [])
    }

    @Test func `may be confirmed late where there is nothing to go back to`() throws {
        let first = try TemporaryStore.app()
        let app = try app(first)
        let kiosk = try app.browser()
        try navigate(kiosk)
        app.look(after: .seconds(2001))
        try expect(kiosk.confirm(), equals: 204)
        try expect(first.reopened().lifecycle().knownGood, equals: ["1"])
    }
}
