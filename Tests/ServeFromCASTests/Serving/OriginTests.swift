import StorageTestSupport

@testable import ServeFromCAS

// The web origin owns the app's local storage: the port must not change between runs.

@Suite("The port of an app")
struct PortTests {
    /// An identifier that no other test computes a port from.
    private func newApp() -> String { "com.example.test-\(UInt64.random(in: 0 ... .max))" }

    private func memory(_ store: TemporaryStore) throws -> ServerMemory {
        try ServerMemory(store.versions)
    }

    @Test func `follows from the identifier alone, and all ports are equally likely`() throws {
        var perBin = [Int](repeating: 0, count: 112)
        var ports: Set<UInt16> = []
        for number in 0..<20_000 {
            let port = try PortChoice.port(of: "com.example.app\(number)")
            expect(PortChoice.range.contains(port))
            ports.insert(port)
            perBin[Int(port - PortChoice.range.lowerBound) % 112] += 1
        }
        // 12,768 ports in 112 bins of 114: the mean of chi-square is 111, its deviation 15.
        let expected = 20_000.0 / 112
        let chiSquare = perBin.reduce(0.0) { sum, count in
            sum + (Double(count) - expected) * (Double(count) - expected) / expected
        }
        expect((60...190).contains(chiSquare))
        // 12,768 · (1 - e^(-20,000/12,768)) = 10,101 different ones.
        expect((9900...10_300).contains(ports.count))
        try expect(PortChoice.port(of: "a"), equals: PortChoice.port(of: "a"))
        try expect(PortChoice.port(of: "com.a") != PortChoice.port(of: "com.b"))
    }

    @Test func `is the same at every start, and in the store's server.json`() async throws {
        let store = try TemporaryStore.app()
        let name = newApp()
        let first = try TestApp(store) { $0.port = .app(name) }
        try expect(first.port, equals: PortChoice.port(of: name))
        await first.stop()
        try expect(memory(store).port(for: .app(name)), equals: first.port)
        let second = try TestApp.again { try TestApp(store) { $0.port = .app(name) } }
        expect(second.port, equals: first.port)
        try expect(second.browser().navigate().status, equals: 200)
    }

    @Test("is the one remembered, were it another than the computed one; not so for another app")
    func rememberedOverComputed() throws {
        let store = try TemporaryStore.app()
        let (name, other) = (newApp(), newApp())
        let computed = try PortChoice.port(of: name)
        let next: UInt16 = computed == 32_767 ? 20_000 : computed + 1
        try ServerMemory.update(store.versions) { $0.note(.app(name), next) }
        let remembered = try self.memory(store).port(for: .app(name))
        try expect(PortChoice.app(name).candidates(remembered: remembered), equals: [next])
        try expect(self.memory(store).port(for: .app(other)) == nil)
        try expect(self.memory(store).port(for: .exactly(1)) == nil)
    }

    @Test("gives way to the next one if that is allowed, and is not forgotten over it")
    func lent() async throws {
        let store = try TemporaryStore.app()
        let name = newApp()
        let own = try TestApp(store) { $0.port = .app(name) }
        let lent = try TestApp(store) { $0.port = .appOrNext(name) }
        expect(lent.port != own.port)
        let candidates = try PortChoice.appOrNext(name).candidates(remembered: nil)
        expect(candidates.count == 21 && Set(candidates).count == 21)
        expect(candidates.contains(lent.port))
        expect(candidates.allSatisfy { PortChoice.range.contains($0) })
        try expect(lent.browser().navigate().text.contains("one"))
        try expect(memory(store).port(for: .app(name)), equals: own.port)
        let port = own.port
        await own.stop()
        expect(isRefused(port))
        let again = try TestApp(store) { $0.port = .appOrNext(name) }
        expect(again.port, equals: port)
    }

    @Test("is the one taken at the first start, also if the computed one was not free then")
    func firstStart() async throws {
        let name = newApp()
        let stranger = try TestApp(TemporaryStore.app()) { $0.port = .app(name) }
        let store = try TemporaryStore.app()
        let first = try TestApp(store) { $0.port = .appOrNext(name) }
        expect(first.port != stranger.port)
        await stranger.stop()
        await first.stop()
        expect(isRefused(first.port))
        // Its local storage is there.
        try expect(TestApp(store) { $0.port = .appOrNext(name) }.port, equals: first.port)
    }

    @Test(
        "is each app's own where several are served from one store, one after the other or at once")
    func severalApps() async throws {
        let store = try TemporaryStore.app()
        let names = (0..<4).map { _ in newApp() }
        var ports: [UInt16] = []
        for name in names {
            // At their first start another program has the computed ones.
            let stranger = try TestApp(TemporaryStore.app()) { $0.port = .appOrNext(name) }
            ports.append(try TestApp(store) { $0.port = .appOrNext(name) }.port)
            await stranger.stop()
        }
        for (name, port) in zip(names, ports) {
            try expect(memory(store).port(for: .app(name)), equals: port)
        }
        let fresh = try TemporaryStore.app()
        let path = fresh.path
        DispatchQueue.concurrentPerform(iterations: 40) { number in
            do {
                let versions = try VersionStore.open(
                    path, options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20))
                try ServerMemory.update(versions) {
                    $0.note(.app("app\(number)"), UInt16(20_000 + number))
                    if $0.token == nil { $0.token = String(repeating: "0", count: 32) }
                }
            } catch { Issue.record(error) }
        }
        for number in 0..<40 {
            try expect(
                memory(fresh).port(for: .app("app\(number)")), equals: UInt16(20_000 + number))
        }
        try expect(memory(fresh).token != nil)
    }

    @Test("is forgotten when 64 other apps have come since, so that the file does not grow")
    func manyApps() throws {
        let store = try TemporaryStore.app()
        for number in 0..<70 {
            try ServerMemory.update(store.versions) {
                $0.note(.app("app\(number)"), UInt16(20_000 + number))
            }
        }
        let memory = try memory(store)
        expect(memory.port(for: .app("app5")) == nil)
        expect(memory.port(for: .app("app6")), equals: 20_006)
        expect(memory.ports.count, equals: 64)
    }

    static let damagedTexts = [
        "", "{", "[]", "null", "\"text\"", "{\"ports\":{\"a\":70000}}",
        "{\"ports\":{\"a\":0}}", "{\"ports\":{\"a\":\"1\"}}", "{\"ports\":{\"a\":1.5}}",
        "{\"ports\":[1]}", "{\"ports\":{\"a\":1,\"a\":2}}", "{\"token\":\"abc\"}", "{\"token\":7}",
        "{\"token\":\"0123456789abcdef0123456789abcdeg\"}", "{\"ports\":{}}x",
    ]

    @Test(arguments: damagedTexts)
    func `is not guessed when server.json is damaged`(_ text: String) throws {
        let store = try TemporaryStore.app()
        try Damage.overwriteOrCreate(store.path + "/server.json", with: Array(text.utf8))
        expectRefusal(.badServerFile, "\(text)", saying: "server.json", "delete it") {
            try TestApp(store)
        }
    }

    @Test func `is remembered beside what a newer castree remembers`() throws {
        let store = try TemporaryStore.app()
        try Damage.overwriteOrCreate(
            store.path + "/server.json", with: Array("{\"later\":[1],\"ports\":{\"a\":23456}}".utf8)
        )
        try expect(memory(store).port(for: .app("a")), equals: 23_456)
    }
}

@Suite("The token of a store")
struct TokenTests {
    private func app(_ store: TemporaryStore, port: UInt16 = 0) throws -> TestApp {
        try TestApp(store) {
            $0.requiresToken = true
            $0.port = .exactly(port)
        }
    }

    @Test func `is needed for all but the bridge's script: once in the address, then as a cookie`()
        throws
    {
        let app = try app(TemporaryStore.app())
        let query = try require(app.server.url.split(separator: "?").last)
        let token = try require(query.split(separator: "=").last)
        expect(token.utf8.count, equals: 32)
        let stranger = try app.browser()
        for path in ["/", "/app.js", "/_castree/status"] {
            try expect(stranger.ask("GET", path).status, equals: 403)
        }
        let wrong = String(repeating: "0", count: 32)
        try expect(stranger.navigate("/?castree_token_\(app.port)=\(wrong)").status, equals: 403)
        expect(stranger.cookies.isEmpty)

        let browser = try app.visitor(seeing: "one", at: "/?\(query)")
        expect(browser.cookies["castree_token_\(app.port)"], equals: String(token))
        try expect(browser.navigate().status, equals: 200)
        try expect(browser.load("/app.js").text, equals: "run('one')")
        try expect(browser.status().version, equals: "1")
        try expect(SocketPage(browser).bridge.session != nil)
    }

    @Test func `is the same after a restart, in a file that only its owner reads`() async throws {
        let store = try TemporaryStore.app()
        let first = try app(store)
        let browser = try first.browser()
        try browser.navigate("/?" + (first.server.url.split(separator: "?").last ?? ""))
        try expect(Damage.mode(store.path + "/server.json"), equals: 0o600)
        await first.stop()
        let second = try TestApp.again { try app(store, port: first.port) }
        expect(second.server.url, equals: first.server.url)
        let again = try second.browser()
        again.cookies = browser.cookies
        try expect(again.navigate().status, equals: 200)
    }

    @Test func `stands in no line of the access log`() throws {
        let app = try app(TemporaryStore.app())
        let query = try require(app.server.url.split(separator: "?").last)
        let token = try require(query.split(separator: "=").last)
        let browser = try app.browser()
        try browser.navigate("/?a=1&\(query)&b=2")
        try browser.navigate("/help/?x=\(token)")
        try browser.navigate("/\(token)")
        // What nearly is the token: with an escape, in upper case, under a name with one.
        let digit = try require(token.utf8.first)
        for value in ["%\(String(digit, radix: 16))\(token.dropFirst())", token.uppercased()] {
            for name in ["castree_token_\(app.port)", "castree%5Ftoken_\(app.port)"] {
                try browser.navigate("/?\(name)=\(value)")
            }
        }
        try app.wait(for: "seven records") { app.records.all.count >= 7 }
        let targets = app.records.all.map(\.target)
        expect(targets.dropFirst(3).allSatisfy { $0.hasSuffix("=***") }, "\(targets)")
        expect(!targets.contains { $0.contains(token) })
        expect(targets.first, equals: "/?a=1&castree_token_\(app.port)=***&b=2")
        expect(app.records.all.prefix(2).map(\.status), equals: [200, 200])
    }
}
