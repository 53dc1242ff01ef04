import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "What counts as a start, and the failed attempts": a start is answered 200 with the page.
@Suite("A version that no page can be shown of")
struct UnshownStartTests {
    /// Version 1, which is known good unless it is the first day, and 2, which is missing its page.
    private func store(_ lack: Lack, isFirstDay: Bool = false) throws -> TemporaryStore {
        let store = try TemporaryStore.app(current: nil)
        if isFirstDay { try store.versions.activate("1") } else { try store.makeKnownGood("1") }
        if lack == .index { try store.loseIndex(of: "2", named: "two") }
        return store
    }

    @Test(arguments: Lack.allCases)
    func `has a browser ask again that shows the error in its place, and nobody else`(_ lack: Lack)
        throws
    {
        let store = try store(lack, isFirstDay: true)
        try store.versions.activate("2")
        try store.breakPage(of: "2", lack)
        let app = try TestApp(store)
        let answer = try app.browser().navigate()
        expect(answer.status, equals: lack == .index ? 404 : 500)
        expect(answer.value("Refresh"), equals: "5")
        for path in ["/none.js", "/none"] {
            let missing = try app.browser().load(path)
            expect(missing.status == 404 && missing.value("Refresh") == nil)
        }
    }

    @Test(arguments: Lack.allCases)
    func `waits while it is pending, and counts nothing`(_ lack: Lack) async throws {
        let store = try store(lack)
        try store.versions.activateAtNextBoot("2")
        try store.breakPage(of: "2", lack)
        for _ in 1...3 {
            let app = try TestApp(watching: store)
            let browser = try app.visitor(seeing: "one")
            let page = try SocketPage(browser)
            app.look(after: .seconds(2001))
            try expect(app.browser().navigate().text.contains("one"))
            expect(page.payloads("version-ready").isEmpty)
            await app.stop()
        }
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.pending == "2")
        expect(lifecycle.attempts.isEmpty && lifecycle.bad.isEmpty)
    }

    @Test(
        "is left for the way back where somebody made it current at once, and never banned",
        arguments: Lack.allCases, [false, true])
    func current(_ lack: Lack, isFirstDay: Bool) async throws {
        let store = try store(lack, isFirstDay: isFirstDay)
        try store.versions.activate("2")
        try store.breakPage(of: "2", lack)
        for round in 1...3 {
            let app = try TestApp(watching: store)
            try expect(app.browser().navigate().text.contains("one"))
            app.look(after: .seconds(2001))
            try expect(app.browser().navigate().text.contains("one"))
            let isTold = app.notices.all.contains { $0.contains("version 2 was rolled back: ") }
            expect(isTold, equals: (round == 1), "\(app.notices.all)")
            await app.stop()
        }
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "1" && lifecycle.pending == "2")
        expect(lifecycle.attempts.allSatisfy { $0.failedAttempts == 0 } && lifecycle.bad.isEmpty)
    }

    @Test(arguments: [false, true])
    func `is started by a page that it has`(isPending: Bool) throws {
        let store = try store(.index)
        let versions = try store.reopened()
        if isPending { try versions.activateAtNextBoot("2") } else { try versions.activate("2") }
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate("/about.html").text.contains("about two"))
        try expect(store.reopened().lifecycle().boot?.version, equals: "2")
    }

    @Test func `is started once it can be shown`() async throws {
        let store = try store(.damaged)
        try store.versions.activate("2")
        try store.breakPage(of: "2", .damaged)
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate().text.contains("one"))
        try store.breakPage(of: "2", .damaged)
        try expect(app.browser().navigate().text.contains("two"))
        try expect(store.reopened().lifecycle().attempts.map(\.failedAttempts), equals: [1])
    }

    @Test(arguments: Lack.allCases)
    func `is kept where there is nothing else, and answered as it is`(_ lack: Lack) throws {
        let store = try store(lack, isFirstDay: true)
        try store.versions.activate("2")
        try store.versions.retire("1")
        try store.breakPage(of: "2", lack)
        let app = try TestApp(watching: store)
        for _ in 1...3 {
            try expect(app.browser().navigate().status, equals: (lack == .index ? 404 : 500))
            app.look(after: .seconds(2001))
        }
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.current == "2" && lifecycle.boot == nil)
        expect(lifecycle.attempts.isEmpty && lifecycle.bad.isEmpty)
    }

    @Test
    func `is left alone where it is known good, and where only one of its pages is lost`() throws {
        let store = try store(.damaged)
        try store.makeKnownGood("2")
        try store.breakPage(of: "2", .damaged)
        let app = try TestApp(watching: store)
        try expect(app.browser().navigate().status, equals: 500)
        try expect(store.reopened().lifecycle().current, equals: "2")
        try store.add("3", ["index.html": "<title>three</title>"])
        try store.versions.activate("3")
        try expect(app.browser().load("/none.js").status, equals: 404)
        try expect(store.reopened().lifecycle().current, equals: "3")
        try expect(app.browser().navigate().text.contains("three"))
    }
}
