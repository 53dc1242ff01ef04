import StorageTestSupport

@testable import ServeFromCAS

@Suite("Pages that load while versions are switched")
struct SwitchingUnderLoadTests {
    @Test(arguments: [1, 3])
    func `are never mixed, by one worker or several`(_ workers: Int) throws {
        let app = try TestApp(TemporaryStore.app()) { $0.workers = workers }
        var limits = PinTable.Limits()
        // Pages load without a pause, but threads of a busy machine have theirs.
        limits.loading = .seconds(600)
        limits.loadingMax = .seconds(600)
        app.server.handler.pins.withLock { $0 = PinTable(limits: limits) }
        let other = try app.store.reopened()
        let problems = Sink<String>()
        let seen = Sink<String>()
        let loading = DispatchGroup()
        for _ in 0..<4 {
            loading.enter()
            // Threads of their own: those of the tests may all be taken.
            Thread {
                do { try load(app, problems, seen) } catch { problems.add("\(error)") }
                loading.leave()
            }.start()
        }
        var round = 0
        while loading.wait(timeout: .now()) == .timedOut {
            try other.activate(round % 2 == 0 ? "2" : "1")
            round += 1
        }
        expect(problems.all, equals: [])
        expect(Set(seen.all), equals: ["one", "two"])
    }

    /// A browser that loads its page again and again.
    private func load(_ app: TestApp, _ problems: Sink<String>, _ seen: Sink<String>) throws {
        let browser = try app.browser()
        var round = 0
        // At least so often, and until there was a switch, however late it comes.
        while round < 40 || (Set(seen.all).count < 2 && round < 100_000) {
            defer { round += 1 }
            let address = round % 2 == 0 ? "/" : "/help/"
            let page = try browser.navigate(address).text
            let name = page.contains("one") ? "one" : "two"
            seen.add(name)
            let files = [
                ("/app.js", "run('\(name)')"), ("/style.css", ".\(name) {}"),
                (name == "one" ? "/gone.js" : "/new.js", "only in \(name)"),
                ("/same.txt", "the same in all"),
            ]
            for (path, text) in files {
                let answer = try browser.load(path, from: address)
                if answer.status != 200 || answer.text != text {
                    problems.add("\(path) of \(name): \(answer.status) \(answer.text)")
                }
            }
        }
    }
}
