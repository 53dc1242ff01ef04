import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "What counts as a start, and the failed attempts": a page that outlives the server which started its
// version.
@Suite("A page whose server ended before anything confirmed its version")
struct OutlivedServerTests {
    /// What has become of the start of version 2 when the page connects to this server.
    enum Start: CaseIterable {
        case killed, stopped
        /// Left by that server: it waits for the first page of the next one.
        case left
        /// Confirmed; watched by a server that lives; of no interest, since this server watches no starts.
        case confirmed, watched, unwatched
        /// Nobody has started it: its page came by a stranger's link.
        case never

        var isOutlived: Bool { [.killed, .stopped, .left].contains(self) }
    }

    private static let away = Duration.seconds(2000)

    /// What a page has heard of its own version once all has come that was sent before now.
    private func heard(_ page: SocketPage, _ app: TestApp) throws -> [String] {
        try page.heard("rolled-back", app).filter { $0.contains("\"own\":true") }
    }

    private func outlive(_ start: Start) throws -> (TemporaryStore, TestWatch?) {
        let store = try TemporaryStore.app(good: "1")
        try store.versions.activate("2")
        if start == .never { return (store, nil) }
        let watch = TestWatch(store.versions, allowed: .seconds(20))
        try watch.pageBegins(store.versions.lifecycle(), now: .zero)
        switch start {
        case .killed, .unwatched, .never: return (store, nil)
        case .stopped: try watch.end()
        case .confirmed: try expect(watch.confirm("2"))
        case .left: try watch.look(now: .seconds(21))
        case .watched: return (store, watch)
        }
        return (store, nil)
    }

    @Test(
        "is loaded again, once in the process, so that a navigation starts its version again or leaves it",
        arguments: Start.allCases)
    func told(_ start: Start) throws {
        let (store, watch) = try outlive(start)
        let app = try TestApp(store) { $0.confirmation = start == .unwatched ? nil : Self.away }
        var told: Set<String> = []
        for _ in 0..<2 {
            let words = try heard(try SocketPage(app.browser(), saying: "2"), app)
            expect(words.count, equals: start.isOutlived ? 1 : 0, "\(start)")
            told.formUnion(words)
            // An older page has nothing to do with it.
            try expect(heard(try SocketPage(app.browser(), saying: "1"), app), equals: [])
        }
        // By its time the script knows it again, so that what a service worker keeps is not loaded for ever.
        expect(told.count, equals: start.isOutlived ? 1 : 0)
        let browser = try app.browser()
        let shown = try browser.navigate().text
        let current = try require(store.reopened().lifecycle().current)
        expect(shown.contains(current == "2" ? "two" : "one"))
        expect(current == "1", equals: start == .killed)
        // Of what is shown now no page is told.
        try expect(heard(try SocketPage(browser, saying: current), app), equals: [])
        withExtendedLifetime(watch) {}
    }
}
