import WebTestSupport

@testable import ServeFromCAS

/// The assembled server on a port of its own, over a store.
final class TestApp: Sendable {
    let store: TemporaryStore
    let server: AppServer
    let notices = Sink<String>()
    let records = Sink<AccessRecord>()
    var port: UInt16 { server.port }

    init(
        _ store: TemporaryStore, over versions: VersionStore? = nil,
        _ change: (inout AppServerOptions) -> Void = { _ in }
    ) throws {
        self.store = store
        var options = AppServerOptions()
        options.port = .exactly(0)
        let (notices, records) = (notices, records)
        options.notice = { notices.add($0) }
        options.accessLog = { records.add($0) }
        // Looks are as late as a test likes.
        options.startRules.pace = .seconds(1_000_000)
        change(&options)
        server = try AppServer(
            ServedStore(versions ?? store.versions), options, connections: .patient)
        try server.start()
    }

    /// A server that watches starts for far longer than a test takes: a busy machine's clock must not decide.
    convenience init(watching store: TemporaryStore) throws {
        try self.init(store) { $0.confirmation = .seconds(2000) }
    }

    /// Such a server, and its store, whose current version 1 some page has confirmed.
    static func kiosk(waiting: String? = nil) throws -> (TemporaryStore, TestApp) {
        let store = try TemporaryStore.app(good: "1", waiting: waiting)
        return (store, try TestApp(watching: store))
    }

    deinit { server.stop(within: .zero) }

    /// The server once more, where one has just stopped.
    ///
    /// A process that another test starts has the old listener, too, for the moment between fork and
    /// exec: the port is asked for until that is over.
    static func again(_ make: () throws -> TestApp) throws -> TestApp {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do {
                return try make()
            } catch let error as StoreError {
                guard error.code == .portInUse, ContinuousClock.now < end else { throw error }
            }
        }
    }

    /// The server once more at its port, after a change of the store, and what a browser has kept.
    func restarted(
        _ browser: TestBrowser, watching: Bool = false,
        after change: (VersionStore) throws -> Void = { _ in }
    ) async throws -> (TestApp, TestBrowser) {
        await stop()
        try change(store.reopened())
        let next = try TestApp.again {
            try TestApp(store) {
                $0.port = .exactly(port)
                if watching { $0.confirmation = .seconds(2000) }
            }
        }
        return (next, try next.tab(of: browser))
    }

    func browser() throws -> TestBrowser { try TestBrowser(self) }

    /// A browser's cookies on a connection of its own.
    func tab(of browser: TestBrowser) throws -> TestBrowser {
        let tab = try self.browser()
        tab.cookies = browser.cookies
        return tab
    }

    /// A browser that shows a page, with these words if any are given.
    func visitor(
        seeing words: String? = nil, at path: String = "/",
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> TestBrowser {
        let browser = try browser()
        let text = try browser.navigate(path).text
        if let words { #expect(text.contains(words), sourceLocation: sourceLocation) }
        return browser
    }

    /// Looks after everything as if it were so much later.
    func look(after: Duration) { Housekeeping.look(server.handler, now: SystemClock.now + after) }

    /// As if every page had reported so much earlier for the first time.
    func heardEarlier(by time: Duration) {
        server.handler.pins.withLock { pins in
            for name in pins.sessions.keys { pins.sessions[name]?.heardAt? -= time }
        }
    }

    /// Asks the server for its state again and again until `isSo`; records an issue if it never is.
    func wait(for what: String, _ isSo: () throws -> Bool) throws {
        let end = ContinuousClock.now + .seconds(120)
        while try !isSo() {
            guard ContinuousClock.now < end else { throw Unexpected("never came: \(what)") }
            // Each question is a turn of the server's loop.
            _ = try browser().status()
        }
    }

    /// Waits until all work on the store is done that was to be done before.
    func commit() throws {
        let done = Sink<Bool>()
        expect(server.handler.storeWork.add { done.add(true) })
        try wait(for: "the work on the store") { !done.all.isEmpty }
    }

    /// Looks a minute later until no page holds a version.
    func waitUntilUnpinned(_ version: String) throws {
        try wait(for: "the end of the pin") {
            look(after: .seconds(61))
            return try !store.reopened().pinnedVersions().contains(version)
        }
    }

    /// Stops and waits until everything has ended.
    func stop() async {
        server.stop()
        await server.waitUntilStopped()
    }
}

extension TemporaryStore {
    /// A store with two versions of an app, of which one is current.
    static func app(current: String? = "1") throws -> TemporaryStore {
        let store = try TemporaryStore(adding: "1", version("one", ["gone.js": "only in one"]))
        try store.add("2", version("two", ["new.js": "only in two"]))
        if let current { try store.versions.activate(current) }
        return store
    }

    /// The same, where some page has confirmed the current one, and another may wait for the next.
    static func app(good version: String, waiting: String? = nil) throws -> TemporaryStore {
        let store = try app(current: nil)
        try store.makeKnownGood(version)
        if let waiting { try store.versions.activateAtNextBoot(waiting) }
        return store
    }

    private static func version(_ name: String, _ more: [String: String]) -> [String: String] {
        let files = [
            "index.html": "<title>\(name)</title>", "app.js": "run('\(name)')",
            "style.css": ".\(name) {}", "same.txt": "the same in all",
            "help/index.html":
                "<title>help of \(name)</title><script src=/_castree/bridge.js></script>",
        ]
        return files.merging(more) { $1 }
    }

    /// Makes a version current that some page has confirmed.
    func makeKnownGood(_ version: String) throws {
        try versions.makeKnownGood(version)
    }
}

/// A browser as the server sees it: one connection at a time, cookies, the fields that say what is loaded.
final class TestBrowser {
    private let app: TestApp
    let port: UInt16
    var cookies: [String: String] = [:]
    private(set) var client: TestClient
    var origin: String { "http://localhost:\(port)" }

    /// Keeps the app alive.
    init(_ app: TestApp) throws {
        self.app = app
        port = app.port
        client = try TestClient(port: port)
    }

    /// Sends a request without waiting for its answer.
    func send(
        _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String = ""
    ) {
        var text = "\(method) \(target) HTTP/1.1\r\n"
        if !fields.contains(where: { $0.0 == "Host" }) { text += "Host: localhost:\(port)\r\n" }
        if !cookies.isEmpty {
            let pairs = cookies.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            text += "Cookie: \(pairs.joined(separator: "; "))\r\n"
        }
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        if method == "POST" { text += "Content-Length: \(body.utf8.count)\r\n" }
        client.send(text + "\r\n" + body)
    }

    @discardableResult
    func ask(
        _ method: String, _ target: String, _ fields: [(String, String)] = [], body: String = ""
    ) throws -> TestResponse {
        send(method, target, fields, body: body)
        let response = try require(client.response(toHead: method == "HEAD"))
        if response.value("Connection") == "close" { client = try TestClient(port: port) }
        for line in response.head.split(separator: "\r\n")
        where line.lowercased().hasPrefix("set-cookie: ") && !line.hasSuffix("Max-Age=0") {
            let pair = line.dropFirst(12).prefix { $0 != ";" }.split(separator: "=", maxSplits: 1)
            cookies[String(pair[0])] = String(pair[1])
        }
        return response
    }

    /// Goes to a page.
    @discardableResult
    func navigate(_ target: String = "/") throws -> TestResponse {
        try ask("GET", target, navigation)
    }

    func load(_ target: String, from page: String = "/") throws -> TestResponse {
        try ask("GET", target, scriptLoad + [("Referer", origin + page)])
    }

    @discardableResult
    func post(
        _ target: String, _ body: String = "", from page: String = "/", origin: String? = nil
    ) throws -> TestResponse {
        try ask(
            "POST", target,
            [("Origin", origin ?? self.origin), ("Referer", self.origin + page)], body: body)
    }

    /// Confirms as the bridge's script does: with the session that the page has.
    func confirm(saying version: String? = nil, session: String? = nil) throws -> Int {
        let word = version.map { "&version=" + $0 } ?? ""
        return try post("/_castree/confirm?session=\(session ?? beginSession())" + word).status
    }

    /// Begins a session of the bridge, as a page without WebSockets does.
    func beginSession() throws -> String {
        let answer = try post("/_castree/bridge", "5\nH 1 -")
        return try require(
            answer.text.split(separator: " ").first { BridgeSessionID(String($0)) != nil }
                .map(String.init))
    }

    /// The same, of a page that says its version.
    func beginSession(saying version: String) throws -> String {
        let session = try beginSession()
        try post("/_castree/bridge?session=\(session)&version=\(version)", "3\nA 0")
        return session
    }

    /// The page of a session goes.
    func leave(_ session: String) throws {
        try post("/_castree/bridge?session=\(session)", "1\nC")
    }

    /// What the server says of itself.
    func status() throws -> (version: String?, pinned: [String]) {
        let value = try JSONValue.parse(ask("GET", "/_castree/status").body)
        let pinned = value["pinned"]?.asArray?.compactMap { $0.asString } ?? []
        return (value["version"]?.asString, pinned)
    }
}

extension TestResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
}

/// What a browser says of itself, as far as a page's policy leaves it.
enum Hints {
    static let all = [
        ("Sec-CH-UA", "\"x\""), ("Sec-CH-UA-Mobile", "?0"), ("Sec-CH-UA-Platform", "\"y\""),
    ]

    static func left(by page: TestResponse) -> [(String, String)] {
        let policy = page.value("Permissions-Policy") ?? ""
        return zip(all, ["ch-ua=*", "ch-ua-mobile=*", "ch-ua-platform=*"])
            .filter { policy.contains($0.1) }.map(\.0)
    }
}

/// The fields of a frame's document, and of what a script or a worker fetches.
let frameLoad = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "iframe")]
let fetchLoad = [("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]

/// A page with the bridge's WebSocket.
final class SocketPage {
    private let browser: TestBrowser
    private var socket = WebSocketClient(now: .zero)
    private(set) var bridge = BridgeClient()
    private(set) var events: [BridgeClient.Event] = []
    private(set) var closed: CloseReason?

    /// Connects on the browser's connection, which is the page's from then on.
    ///
    /// - Parameters:
    ///   - version: what the page says that it is of.
    ///   - path: what it says that it was loaded from.
    init(
        _ browser: TestBrowser, saying version: String? = nil, loadedFrom path: String? = nil
    ) throws {
        self.browser = browser
        let response = try browser.ask(
            "GET",
            "/_castree/bridge" + (version.map { "?version=" + $0 } ?? "")
                + (path.map { (version == nil ? "?" : "&") + "from=" + $0 } ?? ""),
            [
                ("Origin", browser.origin), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-Fetch-Mode", "websocket"),
            ])
        try require(response.status == 101)
        // The answer to the sample of RFC 6455, section 1.3.
        expect(response.value("Sec-WebSocket-Accept"), equals: "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        socket.send(.text, bridge.greeting.bytes)
        try run { $0.bridge.session != nil }
    }

    func send(_ text: String) throws {
        try bridge.send(.text(Array(text.utf8)[...]))
        flush()
    }

    var texts: [String] {
        events.compactMap {
            guard case .message(.text(let text)) = $0 else { return nil }
            return String(decoding: text, as: UTF8.self)
        }
    }

    func payloads(_ wanted: String) -> [String] {
        events.compactMap {
            guard case .message(.event(let name, let payload)) = $0, name == wanted else {
                return nil
            }
            return String(decoding: payload, as: UTF8.self)
        }
    }

    /// The payloads of events of a name, once all has come that was sent before now.
    func heard(_ wanted: String, _ app: TestApp) throws -> [String] {
        let (count, session) = (texts.count, bridge.session)
        // Behind what is told by the thread that works on the store.
        try app.commit()
        try app.server.bridge.send("that is all", to: session)
        try run { $0.texts.count > count }
        return payloads(wanted)
    }

    /// Sends and receives until something is so.
    func run(until isDone: (SocketPage) -> Bool) throws {
        flush()
        while !isDone(self), closed == nil {
            let bytes = browser.client.receive()
            try require(!bytes.isEmpty, "the server has closed")
            for event in socket.receive(bytes, now: .zero) {
                switch event {
                case .message(let message):
                    let frame = try BridgeFrame(
                        message.bytes[...], isBinary: message.kind == .binary)
                    events += try bridge.receive(frame, now: .zero)
                case .closed(let reason): closed = reason
                }
            }
            flush()
        }
    }

    private func flush() {
        // All that has come is acknowledged at once.
        while let frame = bridge.nextFrame(now: .seconds(1)) {
            socket.send(frame.isBinary ? .binary : .text, frame.bytes)
        }
        while socket.outputCount > 0 {
            socket.withOutput { bytes in
                browser.client.send(Array(bytes))
                return bytes.count
            }
        }
    }
}
