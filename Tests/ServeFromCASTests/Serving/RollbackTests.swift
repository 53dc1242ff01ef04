import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Starting a new version, and going back": a page whose version was left is told that it
// is its own, so that the script loads it again.
@Suite("A page is told of a rollback")
struct RollbackTests {
    private let store: TemporaryStore
    private let app: TestApp

    init() throws {
        store = try TemporaryStore.app(current: nil)
        try store.makeKnownGood("1")
        // Far more than a test takes: what the clock of a busy machine says must not decide.
        app = try TestApp(watching: store)
    }

    private struct Told: Equatable {
        var version: String?
        var isOwn: Bool
        var hasTime: Bool
    }

    private func told(_ page: SocketPage) throws -> [Told] {
        try page.payloads("rolled-back").map { payload in
            let value = try JSONValue.parse(Array(payload.utf8))
            return Told(
                version: value["version"]?.asString, isOwn: value["own"]?.asBool ?? false,
                hasTime: value["at"] != nil)
        }
    }

    /// A page of a version in a browser of its own, and that browser.
    private func page(of content: String) throws -> (page: SocketPage, browser: TestBrowser) {
        let browser = try app.browser()
        try expect(browser.navigate().text.contains(content))
        return (try SocketPage(browser), browser)
    }

    @Test func `with whether it is of the version that was left`() throws {
        let old = try page(of: "one").page
        try store.versions.activateAtNextBoot("2")
        let new = try page(of: "two").page
        app.look(after: .seconds(2001))
        try new.run { !$0.payloads("rolled-back").isEmpty }
        try old.run { !$0.payloads("rolled-back").isEmpty }
        try expect(told(new), equals: [Told(version: "2", isOwn: true, hasTime: true)])
        try expect(told(old), equals: [Told(version: "2", isOwn: false, hasTime: true)])
        expect(app.notices.all.filter { $0.contains("rolled back") }.count, equals: 1)
    }

    @Test
    func `also if it connects only afterwards, and it is its own version that was left`() throws {
        try store.versions.activateAtNextBoot("2")
        let late = try app.visitor(seeing: "two")
        app.look(after: .seconds(2001))
        let page = try SocketPage(late)
        try page.run { !$0.payloads("rolled-back").isEmpty }
        try expect(told(page), equals: [Told(version: "2", isOwn: true, hasTime: true)])
        // The page that comes of it is of the version that is shown now: it hears what failed, and no other does.
        for isToldOfIt in [true, false] {
            let next = try self.page(of: "one").page
            try app.server.bridge.send("after it", to: next.bridge.session)
            try next.run {
                !$0.texts.isEmpty && (!isToldOfIt || !$0.payloads("rolled-back").isEmpty)
            }
            let expected = Told(version: "2", isOwn: false, hasTime: true)
            try expect(told(next), equals: isToldOfIt ? [expected] : [])
        }
    }

    @Test func `that another process makes`() throws {
        try store.versions.activateAtNextBoot("2")
        let page = try page(of: "two").page
        _ = try store.reopened().rollback(reason: "by hand")
        app.look(after: .zero)
        try page.run { !$0.payloads("rolled-back").isEmpty }
        try expect(told(page), equals: [Told(version: "2", isOwn: true, hasTime: true)])
        expect(page.payloads("rolled-back")[0].contains("by hand"))
    }

    @Test func `and not where somebody just makes another version current`() throws {
        try store.makeKnownGood("2")
        let page = try page(of: "two").page
        try store.reopened().activate("1")
        app.look(after: .zero)
        try page.run { !$0.payloads("version-ready").isEmpty }
        try expect(told(page).isEmpty)
    }
}
