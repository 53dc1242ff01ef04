import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "When the store is damaged": rm -rf store; castree add … under a running server.
@Suite("A store that is deleted while it is served")
struct ReplacedStoreTests {
    private let store: TemporaryStore

    init() throws { store = try TemporaryStore.app() }

    private func delete() throws {
        for name in Damage.names(store.path) {
            let path = store.path + "/" + name
            // Trees are read-only; whoever deletes them makes them writable.
            try? Damage.setMode(path, 0o755)
        }
        Damage.remove(store.path)
        expect(!FileManager.default.fileExists(atPath: store.path))
    }

    /// Makes another store where the first stood.
    private func renew(_ contents: [String: [String: String]], current: String) throws {
        let versions = try VersionStore.create(
            at: store.path, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20)
        ).versions
        for (name, files) in contents {
            let source = store.directory.appending("new-\(name)")
            try writeTree(source, files)
            try versions.add(directory: source, version: name)
        }
        try versions.activate(current)
    }

    @Test func `is noticed without a page, too, and its files are let go`() throws {
        let app = try TestApp(store)
        let browser = try app.visitor()
        try expect(browser.load("/app.js").status, equals: 200)
        try delete()
        app.look(after: .zero)
        expect(app.server.currentVersion == nil)
        expect(app.server.handler.objects.openCount, equals: 0)
        try renew(["9": ["index.html": "nine"]], current: "9")
        app.look(after: .zero)
        expect(app.server.currentVersion, equals: "9")
    }

    @Test
    func `is served on from where it was moved to, until another stands in its place`() throws {
        let app = try TestApp(store)
        try expect(app.browser().navigate().text.contains("one"))
        try FileManager.default.moveItem(
            atPath: store.path, toPath: store.directory.appending("aside"))
        app.look(after: .zero)
        try expect(app.browser().navigate().text.contains("one"))
        try FileManager.default.createDirectory(
            atPath: store.path, withIntermediateDirectories: false)
        app.look(after: .zero)
        try expect(app.browser().navigate().text.contains("one"))
        Damage.remove(store.path)
        try renew(["1": ["index.html": "another"]], current: "1")
        app.look(after: .zero)
        try expect(app.browser().navigate().text, equals: "another")
    }

    @Test
    func `keeps its shell only in one that has it, and its watch over starts in any`() throws {
        try store.add("www", ["cordova.js": "old"])
        let app = try TestApp(store) {
            $0.shell = "www"
            $0.confirmation = .seconds(2000)
        }
        try app.browser().navigate()
        try delete()
        try renew(["1": ["index.html": "another"]], current: "1")
        try expect(app.browser().navigate().status, equals: 503)
        expect(app.notices.all.contains { $0.contains("www") })
        let versions = try store.reopened()
        let source = store.directory.appending("www")
        try writeTree(source, ["cordova.js": "new"])
        try versions.add(directory: source, version: "www")
        let browser = try app.browser()
        try expect(browser.navigate().text, equals: "another")
        try expect(browser.load("/cordova.js").text, equals: "new")
        try expect(versions.lifecycle().boot?.version, equals: "1")
        try expect(browser.confirm(), equals: 204)
        try expect(versions.lifecycle().knownGood, equals: ["1"])
    }

    @Test("loses nothing when only a part of it was taken away: what was shown is shown on")
    func broken() throws {
        let app = try TestApp(store)
        let browser = try app.visitor()
        Damage.remove(store.path + "/objects")
        for _ in 0..<2 {
            app.look(after: .zero)
            try expect(browser.load("/app.js").text, equals: "run('one')")
        }
        expect(app.notices.all.filter { $0.contains("has changed since") }.count, equals: 1)
    }

    /// Another version 1 comes while the server runs, or while none does.
    private func replace(_ app: TestApp, isRunning: Bool, _ files: [String: String]) async throws
        -> TestApp
    {
        if isRunning {
            try delete()
            try renew(["1": files], current: "1")
            app.look(after: .zero)
            return app
        }
        await app.stop()
        let versions = try store.reopened()
        try store.makeKnownGood("2")
        try versions.retire("1")
        let source = store.directory.appending("another-1")
        try writeTree(source, files)
        try versions.add(directory: source, version: "1")
        try versions.activate("1")
        return try TestApp(watching: store)
    }

    // docs/serving.md, "No mixed page".
    @Test(
        "takes a page whose version's name has other content now for one of a version that is gone",
        arguments: [true, false])
    func nameAgain(isRunning: Bool) async throws {
        let old = try TestApp(watching: store)
        let browser = try old.visitor()
        let before = try browser.beginSession()
        let app = try await replace(
            old, isRunning: isRunning, ["index.html": "another", "app.js": "other()"])
        let page = try app.browser()
        page.cookies["castree_page_\(app.port)"] = browser.cookies["castree_page_\(old.port)"]
        let own = [("Referer", page.origin + "/"), ("Sec-Fetch-Site", "same-origin")]
        try expect(app.browser().navigate().text, equals: "another")
        for _ in 0..<2 {
            try expect(page.load("/app.js").status, equals: 409)
            try expect(page.ask("GET", "/app.js", own).status, equals: 409)
            try expect(page.ask("GET", "/", frameLoad + own).status, equals: 409)
        }
        // Its word is of the version that is gone.
        let session = isRunning ? before : try page.beginSession()
        for path in ["bridge", "confirm"] {
            _ = try page.post("/_castree/\(path)?session=\(session)&version=1", "3\nA 0")
        }
        try expect(!store.reopened().lifecycle().knownGood.contains("1"))
        // A page that has other files is one of what is there now.
        try expect(page.navigate().text, equals: "another")
        try expect(page.load("/app.js").text, equals: "other()")
        try expect(page.ask("GET", "/app.js", own).text, equals: "other()")
        try expect(page.confirm(), equals: 204)
        try expect(store.reopened().lifecycle().knownGood.first, equals: "1")
    }

    @Test("leaves a page alone whose version comes again as it was", arguments: [true, false])
    func sameAgain(isRunning: Bool) async throws {
        let files = ["index.html": "one", "app.js": "run('one')"]
        try store.makeKnownGood("2")
        try store.versions.retire("1")
        let source = store.directory.appending("first-1")
        try writeTree(source, files)
        try store.versions.add(directory: source, version: "1")
        try store.versions.activate("1")
        let old = try TestApp(watching: store)
        let browser = try old.visitor()
        let app = try await replace(old, isRunning: isRunning, files)
        let page = try app.browser()
        page.cookies["castree_page_\(app.port)"] = browser.cookies["castree_page_\(old.port)"]
        try expect(page.load("/app.js").text, equals: "run('one')")
    }
}
