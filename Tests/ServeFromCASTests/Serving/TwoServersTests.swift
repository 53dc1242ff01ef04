import StorageTestSupport

@testable import ServeFromCAS

// docs/serving.md, "Starting a new version, and going back": one server of a store starts versions.

@Suite("Two servers that watch one store's starts")
struct TwoWatchesTests {
    private let store: TemporaryStore

    init() throws {
        store = try TemporaryStore.app(current: nil)
        try store.makeKnownGood("1")
        try store.versions.activateAtNextBoot("2")
    }

    private func watch() throws -> TestWatch {
        TestWatch(try store.reopened(), allowed: .seconds(20))
    }

    /// Waits until the lock of a server that is gone is free: a process that another test starts has
    /// the lock, too, for the moment between fork and exec.
    private func waitForLock() throws { while try !isLockFree() {} }

    private func isLockFree() throws -> Bool {
        let system = POSIXFileSystem()
        let file = try system.open(
            store.versions.directories.leases.raw, StoreLayout.startLock, .updating, mode: 0o600)
        return try system.lock(file.raw, exclusive: true)
    }

    private func lifecycle() throws -> Lifecycle { try store.reopened().lifecycle() }

    @Test func `take none back that the other has started`() throws {
        let (first, second) = (try watch(), try watch())
        try expect(first.pageBegins(lifecycle(), now: .zero)?.version, equals: "2")
        let token = try lifecycle().boot?.token
        for second in [second, try watch()] {
            try expect(second.pageBegins(lifecycle(), now: .zero) == nil)
            try second.follow(lifecycle(), now: .seconds(1))
            try expect(second.look(now: .seconds(3600)) == nil)
        }
        try expect(lifecycle().current, equals: "2")
        try expect(lifecycle().boot?.token, equals: token)
        try expect(lifecycle().bad.isEmpty)
        // The one that started it is the one that goes back.
        try expect(first.look(now: .seconds(20))?.from, equals: "2")
        try waitForLock()
        // A first failure: it waits, and no process that has shown a page tries it again.
        try expect(second.pageBegins(lifecycle(), now: .seconds(21))?.version, equals: "1")
        try expect(lifecycle().current == "1" && lifecycle().pending == "2")
        try expect(lifecycle().bad.isEmpty)
    }

    @Test func `take a page's word for the other's start`() throws {
        let (first, second) = (try watch(), try watch())
        _ = try first.pageBegins(lifecycle(), now: .zero)
        try expect(second.confirm("2"))
        try expect(lifecycle().knownGood, equals: ["2", "1"])
        try first.follow(lifecycle(), now: .seconds(1))
        try waitForLock()
        try expect(first.look(now: .seconds(3600)) == nil)
        try expect(lifecycle().current, equals: "2")
        // What comes next is started by either.
        try store.add("3", ["index.html": "three"])
        try store.versions.activateAtNextBoot("3")
        try expect(second.pageBegins(lifecycle(), now: .seconds(2))?.version, equals: "3")
    }

    @Test func `take over from one that dies, and give the version its time`() throws {
        let second = try watch()
        do {
            let first = try watch()
            _ = try first.pageBegins(lifecycle(), now: .zero)
            try second.follow(lifecycle(), now: .seconds(1))
        }
        // The first is gone as after a kill: nobody said anything.
        try waitForLock()
        try second.follow(lifecycle(), now: .seconds(15))
        try expect(second.pageBegins(lifecycle(), now: .seconds(16)) == nil)
        try expect(second.look(now: .seconds(34)) == nil)
        try expect(lifecycle().current, equals: "2")
        try expect(second.look(now: .seconds(35))?.from, equals: "2")
        try expect(lifecycle().current, equals: "1")
    }

    @Test func `take over at a navigation, too, were it the first of all`() throws {
        let second: TestWatch
        do {
            let first = try watch()
            _ = try first.pageBegins(lifecycle(), now: .zero)
            second = try watch()
        }
        try waitForLock()
        try expect(second.pageBegins(lifecycle(), now: .seconds(5))?.kind, equals: .adopted)
        try expect(lifecycle().current, equals: "2")
        try expect(second.confirm("2"))
        try expect(lifecycle().knownGood.first, equals: "2")
    }

    @Test func `count a start as failed whose server died before they began`() throws {
        do {
            let first = try watch()
            _ = try first.pageBegins(lifecycle(), now: .zero)
        }
        try waitForLock()
        let second = try watch()
        try second.follow(lifecycle(), now: .seconds(1))
        try expect(second.pageBegins(lifecycle(), now: .seconds(2))?.left?.from, equals: "2")
        try expect(lifecycle().current, equals: "1")
        try expect(lifecycle().attempts.map(\.failedAttempts), equals: [1])
    }

    @Test(
        "leave alone what `castree boot` has started, until a page of theirs continues with that start"
    )
    func embedder() throws {
        let watch = try watch()
        let token = try store.versions.boot().token
        try watch.follow(lifecycle(), now: .zero)
        try expect(watch.look(now: .seconds(3600)) == nil)
        try expect(lifecycle().boot?.token, equals: token)
        try expect(lifecycle().current, equals: "2")
        // It is the same start: counted once, with the token that the app has.
        let begun = try watch.pageBegins(lifecycle(), now: .seconds(3601))
        expect(begun?.kind == .adopted && begun?.token == token && begun?.left == nil)
        try expect(lifecycle().attempts.map(\.failedAttempts), equals: [1])
        // From here on it is nobody else's: the next boot gets the same token.
        try expect(store.versions.boot().token, equals: token)
        try expect(lifecycle().bad.isEmpty && lifecycle().current == "2")
        try store.versions.confirm("2", token: token)
        try watch.follow(lifecycle(), now: .seconds(3602))
        try expect(watch.look(now: .seconds(7200)) == nil)
        try expect(lifecycle().knownGood.first, equals: "2")
    }

    @Test("let go when somebody makes another version current, so that either may start that")
    func committed() throws {
        let (first, second) = (try watch(), try watch())
        _ = try first.pageBegins(lifecycle(), now: .zero)
        try store.add("3", ["index.html": "three"])
        try store.versions.activate("3")
        try expect(second.pageBegins(lifecycle(), now: .seconds(1)) == nil)
        try first.follow(lifecycle(), now: .seconds(2))
        try waitForLock()
        try expect(second.pageBegins(lifecycle(), now: .seconds(3))?.version, equals: "3")
        try expect(first.look(now: .seconds(3600)) == nil)
        try expect(second.look(now: .seconds(23))?.from, equals: "3")
    }

    @Test func `start a version once, whichever of them has the first page`() async throws {
        let first = try TestApp(store) { $0.confirmation = .seconds(3600) }
        let second = try TestApp(store, over: store.reopened()) { $0.confirmation = .seconds(3600) }
        try expect(first.browser().navigate().text.contains("two"))
        let browser = try second.visitor(seeing: "two")
        try expect(lifecycle().current == "2" && lifecycle().bad.isEmpty)
        await first.stop()
        // That has taken its start back; the next page is a start of the other one.
        second.look(after: .seconds(1))
        try expect(lifecycle().boot == nil && lifecycle().attempts.map(\.failedAttempts) == [0])
        try expect(browser.navigate("/help/").text.contains("two"))
        try expect(browser.confirm(), equals: 204)
        try expect(lifecycle().knownGood, equals: ["2", "1"])
    }
}
