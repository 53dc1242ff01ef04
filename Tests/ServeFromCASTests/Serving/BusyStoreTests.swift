import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "No mixed page": other processes use the store, too, and one of them may be stopped
// while it has the lock of the lifecycle. Only what needs that lock waits.
@Suite("A server whose store is locked by another process")
struct BusyStoreTests {
    /// A lock, usually that of the lifecycle, as another process holds it.
    private final class Lock: Sendable {
        private let file: Mutex<Descriptor?>

        init(_ store: TemporaryStore, _ name: String = ".lifecycle") throws {
            let system = POSIXFileSystem()
            let leases = store.versions.directories.leases.raw
            let file = try system.open(leases, name, .updating, mode: 0o644)
            try expect(system.lock(file.raw, exclusive: true))
            self.file = Mutex(consume file)
        }

        func release() { file.withLock { $0 = nil } }
    }

    private func isServed(_ app: TestApp, _ title: String) throws {
        for _ in 0..<3 {
            try expect(app.browser().navigate().text.contains(title))
            try expect(app.browser().ask("GET", "/same.txt").text, equals: "the same in all")
        }
    }

    @Test(
        "answers others while a page waits for a version that is not open yet", arguments: [1, 2])
    func cookie(_ workers: Int) throws {
        let app = try TestApp(TemporaryStore.app()) { $0.workers = workers }
        let key = try require(ServerMemory(app.store.versions).pageKey)
        let lock = try Lock(app.store)
        let waiting = try (0..<4).map { _ in try app.browser() }
        for browser in waiting {
            // What a page of version 2 has.
            browser.cookies["castree_page_\(app.port)"] =
                PageSeal(key: key).sealed("abcdefghijklmnop.2")
            browser.send("GET", "/app.js", scriptLoad + [("Referer", browser.origin + "/")])
        }
        // One has nothing more to say, and is served all the same.
        waiting[0].client.finishSending()
        try isServed(app, "one")
        lock.release()
        for browser in waiting { expect(browser.client.response()?.text, equals: "run('two')") }
    }

    @Test("answers others while a page waits for its version to be started, and starts it then")
    func boot() throws {
        let store = try TemporaryStore.app(good: "1")
        let app = try TestApp(store) { $0.confirmation = .seconds(600) }
        let old = try app.visitor()
        try store.versions.activateAtNextBoot("2")
        let lock = try Lock(store)
        let page = try app.browser()
        page.send("GET", "/", navigation)
        for _ in 0..<3 { try expect(old.load("/app.js").text, equals: "run('one')") }
        lock.release()
        expect(page.client.response()?.text.contains("two"), equals: true)
        try expect(store.reopened().lifecycle().boot?.version, equals: "2")
    }

    @Test func `answers others while a confirmation waits, and takes it then`() throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let app = try TestApp(store) { $0.confirmation = .seconds(600) }
        let page = try app.visitor(seeing: "two")
        let session = try page.beginSession()
        let lock = try Lock(store)
        page.send(
            "POST", "/_castree/confirm?session=\(session)",
            [("Origin", page.origin), ("Referer", page.origin + "/")])
        try isServed(app, "two")
        lock.release()
        expect(page.client.response()?.status, equals: 204)
        try expect(store.reopened().lifecycle().knownGood.contains("2"))
    }

    // docs/maintenance.md, "When another process has the store".
    @Test(
        "answers 503 where the index is locked, blames nothing else, and starts the version later")
    func index() throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let versions = try VersionStore.open(
            store.path,
            options: StoreOptions(
                isDurable: false, reservedByteCount: 1 << 20, waitLimit: .milliseconds(300)))
        let app = try TestApp(store, over: versions) { $0.confirmation = .seconds(600) }
        let lock = try Lock(store, ".index")
        let answer = try app.browser().navigate()
        expect(answer.status, equals: 503)
        // A browser that shows it asks again.
        expect(answer.value("Refresh"), equals: answer.value("Retry-After"))
        expect(answer.value("Refresh"), equals: "5")
        try app.wait(for: "the notice, which follows") { !app.notices.all.isEmpty }
        expect(app.notices.all.allSatisfy { $0.contains("the store is in use: ") })
        expect(app.notices.all.allSatisfy { !$0.contains("manifest") })
        lock.release()
        try expect(app.browser().navigate().text.contains("two"))
    }

    // docs/serving.md, "Limits": ten seconds, for what is in flight and for locks.
    @Test("takes an unconfirmed start back at its end though the lock comes free late")
    func stopping() async throws {
        let store = try TemporaryStore.app(good: "1", waiting: "2")
        let lock = Mutex<Lock?>(nil)
        // Who waits for two seconds says so.
        let versions = try store.reopened { notice in
            if notice.hasPrefix("waiting for ") { lock.withLock { $0?.release() } }
        }
        let app = try TestApp(store, over: versions) { $0.confirmation = .seconds(600) }
        try expect(app.browser().navigate().text.contains("two"))
        let held = try Lock(store)
        lock.withLock { $0 = held }
        await app.stop()
        let lifecycle = try store.reopened().lifecycle()
        expect(lifecycle.boot == nil && lifecycle.attempts.map(\.failedAttempts) == [0])
        expect(lifecycle.attempts.map(\.takenBack), equals: [1])
        expect(app.notices.all, equals: [])
    }

    @Test func `has its work done in order, by one thread at a time`() throws {
        let queue = WorkQueue()
        let done = Sink<Int>()
        for number in 0..<1000 { expect(queue.add { done.add(number) }) }
        while done.all.count < 1000 { sched_yield() }
        expect(done.all, equals: Array(0..<1000))
    }
}
