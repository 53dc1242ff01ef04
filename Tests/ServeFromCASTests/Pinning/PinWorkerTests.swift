import StorageTestSupport

@testable import ServeFromCAS

// A worker that asks by an address (fetch(event.request.url)) asks in its own name, whosever page wants the file, and
// the worker that installs beside it does so, too.
@Suite("What a service worker asks for by an address")
struct PinWorkerTests {
    /// A browser with pages, and a clock at which its older page never goes.
    private struct Scene {
        var server: PinServer
        var browser = PinBrowser(connection: 1)

        var a: VersionName { server.a }
        var b: VersionName { server.b }

        init() throws { server = try PinServer() }

        /// With a page of A, which has loaded its worker's script.
        static func opened() throws -> Scene {
            var scene = try Scene()
            scene.open(scene.a, tab: 1)
            scene.loadScript(scene.a)
            return scene
        }

        /// Loads a page in a tab of its own.
        mutating func open(_ version: VersionName, tab: UInt64, isReload: Bool = false) {
            server.go("/", of: version, in: &browser, isReload: isReload, connection: tab)
            server.wait(10)
        }

        mutating func loadScript(_ version: VersionName) {
            server.current = version
            var request = PinRequest(load: .subresource, path: Array("/sw.js".utf8))
            request.isWorkerScript = true
            request.cookie = browser.cookie
            request.connection = 90
            guard case .serve(_, let cookie, _) = server.ask(request) else { return }
            browser.cookie = cookie ?? browser.cookie
        }

        /// The worker asks.
        mutating func get(_ path: String = "/data.json") -> String {
            server.get(path, by: browser, from: "/sw.js", connection: 91)
        }
    }

    @Test(
        "is refused within an install that a page of another version meets: what it kept of that would stay"
    )
    func loadsWhileInstalling() throws {
        var scene = try Scene.opened()
        scene.server.wait(20)
        scene.loadScript(scene.b)
        scene.server.now += .milliseconds(200)
        // It has been rolled back meanwhile.
        scene.server.go("/", of: scene.a, in: &scene.browser, connection: 2)
        for file in 0..<5 {
            expect(scene.get("/\(file).js"), equals: "doubt")
            scene.server.now += .milliseconds(300)
        }
    }

    @Test(
        "is the installing worker's own version though a page that the existing one shows reports meanwhile"
    )
    func reportsWhileInstalling() throws {
        var scene = try Scene()
        for (tab, path) in [(UInt64(1), "/"), (2, "/two")] {
            scene.server.go(path, in: &scene.browser, connection: tab)
            scene.server.connect(path, by: scene.browser, from: path, connection: tab)
        }
        scene.loadScript(scene.a)
        scene.server.wait(20)
        scene.loadScript(scene.b)
        scene.server.now += .milliseconds(200)
        // The second tab has been loaded again.
        scene.server.table.leave(session: "/two", now: scene.server.now)
        _ = scene.server.get("/_castree/bridge", by: scene.browser, from: "/two", connection: 80)
        scene.server.table.hold(
            session: "kept", connection: 80, word: .version(scene.a), address: Array("/two".utf8),
            now: scene.server.now)
        expect(scene.server.table.version(session: "kept"), equals: scene.a)
        for file in 0..<5 {
            scene.server.now += .milliseconds(200)
            expect(scene.get("/\(file).js"), equals: "B")
        }
    }

    @Test("is the installing worker's own version within its install, whatever pages are open")
    func installs() throws {
        var scene = try Scene.opened()
        expect(scene.get(), equals: "A")
        scene.server.wait(20)
        scene.loadScript(scene.b)
        for file in 0..<30 {
            expect(scene.get("/\(file).js"), equals: "B")
            scene.server.now += .milliseconds(900)
        }
        // It has taken too long: what comes now may be a page's.
        for file in 30..<40 {
            scene.server.now += .milliseconds(900)
            _ = scene.get("/\(file).js")
        }
        expect(scene.get(), equals: "doubt")
    }

    @Test("is never the waiting worker's version in an older page: refused first, then that page's")
    func waits() throws {
        var scene = try Scene.opened()
        scene.server.wait(20)
        scene.loadScript(scene.b)
        for milliseconds in [1100, 400, 5000, 30_000] {
            scene.server.now += .milliseconds(milliseconds)
            expect(scene.get(), equals: "doubt", "\(scene.server.now)")
        }
        scene.server.wait(30)
        for _ in 1...3 {
            expect(scene.get(), equals: "A")
            scene.server.wait(300)
        }
    }

    @Test func `is what the pages agree on, while those of several versions are open`() throws {
        for scripts in 1...2 {
            var scene = try Scene.opened()
            scene.server.wait(20)
            if scripts == 2 { scene.loadScript(scene.b) }
            scene.server.wait(5)
            scene.open(scene.b, tab: 2)
            for seconds in [0, 60, 600] {
                scene.server.wait(seconds)
                expect(scene.get(), equals: "doubt", "\(scripts) scripts")
            }
        }
    }

    @Test func `is the version of the only page, though the worker is an older one`() throws {
        for seconds in [1, 5, 60, 600] {
            var scene = try Scene.opened()
            scene.server.wait(seconds)
            scene.open(scene.b, tab: 1, isReload: true)
            for _ in 1...3 {
                expect(scene.get(), equals: "B", "\(seconds)")
                scene.server.wait(60)
            }
        }
    }

    @Test func `is the worker's own version while no other is open, and when no page is`() throws {
        var scene = try Scene.opened()
        scene.server.wait(3600)
        expect(scene.get(), equals: "A")
        scene.loadScript(scene.b)
        scene.server.table.close(connection: 1, now: scene.server.now)
        scene.server.wait(61)
        expect(scene.get(), equals: "B")
    }

    /// A worker of the pages of a version asks (`SharedWorker`): its address says the version.
    private static func share(
        _ path: String, of version: VersionName, from referrer: String, _ scene: inout Scene
    ) -> String {
        var request = PinRequest(
            load: .subresource, path: Array(path.utf8), referrer: Array(referrer.utf8),
            cookie: scene.browser.cookie, connection: 92, sender: .page)
        request.shared = version
        guard case .serve(let version, _, nil) = scene.server.ask(request) else { return "doubt" }
        return version.description
    }

    @Test(
        "of pages that share it is their version, also while a newer page loads, as long as one is open"
    )
    func shared() throws {
        for seconds in [0, 2, 10, 600] {
            var scene = try Scene()
            scene.open(scene.a, tab: 1)
            scene.server.go("/", of: scene.b, in: &scene.browser, connection: 2)
            scene.server.wait(seconds)
            for (version, name) in [(scene.a, "A"), (scene.b, "B")] {
                // Its script, and what it asks for.
                expect(Self.share("/shared.js", of: version, from: "/", &scene), equals: name)
                expect(
                    Self.share("/data.json", of: version, from: "/shared.js", &scene), equals: name)
            }
            // The worker of pages that have gone has gone, too: its word counts for nothing.
            scene.server.table.close(connection: 1, now: scene.server.now)
            scene.server.table.close(connection: 92, now: scene.server.now)
            scene.server.wait(61)
            expect(Self.share("/data.json", of: scene.a, from: "/shared.js", &scene), equals: "B")
        }
    }

    @Test("may be the worker's that has come last, where workers show pages that they kept")
    func kept() throws {
        var scene = try Scene.opened()
        scene.server.connect("page", by: scene.browser, connection: 1)
        scene.server.table.noteKeeping(session: "page", browser: nil)
        scene.loadScript(scene.b)
        scene.server.now += .milliseconds(2500)
        expect(scene.get(), equals: "B")
        for seconds in [5, 60, 600] {
            scene.server.wait(seconds)
            expect(scene.get(), equals: "doubt")
        }
        scene.server.table.leave(session: "page", now: scene.server.now)
        expect(scene.get(), equals: "B")
    }

    @Test(
        "is the installing worker's own version for a page too, though another is shown by now, until one of it has come",
        arguments: [true, false])
    func page(isShown: Bool) throws {
        var scene = try Scene()
        let (a, b) = (scene.server.a, scene.server.b)
        scene.open(a, tab: 1)
        scene.loadScript(a)
        scene.server.connect("page", by: scene.browser, connection: 1)
        scene.server.table.noteKeeping(session: "page", browser: nil)
        scene.loadScript(b)
        expect(scene.get("/app.js"), equals: "B")
        // The page that the existing one shows comes again, with a cookie that names the script's version.
        scene.server.table.leave(session: "page", now: scene.server.now)
        scene.server.table.close(connection: 1, now: scene.server.now)
        scene.server.wait(1)
        scene.server.connect(
            "again", by: scene.browser, from: "/", connection: 93, word: .version(a))
        // It was taken back, or the next one has come.
        scene.server.current = a
        func asks(_ scene: inout Scene) -> String {
            var request = PinRequest(
                load: .subresource, path: Array("/".utf8), referrer: Array("/sw.js".utf8),
                cookie: scene.browser.cookie, connection: 91)
            request.asksForPage = true
            request.leadsToPage = true
            let now = scene.server.now
            let begins = scene.server.table.isPageOfWorker(request, a, now)
            let name = scene.server.ask(request).name
            expect(begins, equals: name == "A")
            return name
        }
        for _ in 0..<3 {
            expect(asks(&scene), equals: "B")
            scene.server.wait(6)
        }
        if isShown {
            scene.server.connect(
                "shown", by: scene.browser, from: "/", connection: 92, word: .version(b))
        } else {
            scene.server.wait(30)
        }
        // It shows pages, and this is the next one.
        expect(asks(&scene), equals: "A")
    }
}
