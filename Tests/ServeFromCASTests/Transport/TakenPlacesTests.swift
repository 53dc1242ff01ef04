import Dispatch
import WebTestSupport

@testable import ServeFromCAS
@testable import WebServer

@Suite("A server whose places are all taken") struct TakenPlacesTests {
    /// What those do who have the places.
    enum Operation: String, CaseIterable, Sendable {
        case nothing, halfHead, answered, secondHalfHead, refused
        case halfBody, unwantedBody, halfPassedOn, unanswered, passedOn

        /// Whether they wait for nothing but their clients.
        var givesWay: Bool { ![.unanswered, .passedOn].contains(self) }

        func begin(_ client: TestClient) {
            switch self {
            case .nothing: break
            case .halfHead: client.send("GET /text HTTP/1.1\r\nHo")
            case .answered, .secondHalfHead:
                expect(client.status(get("/text")), equals: 200)
                if self == .secondHalfHead { client.send("GET /text HTTP/1.1\r\nHo") }
            case .halfBody:
                client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf")
            case .unwantedBody:
                client.send("POST /text HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\nhalf")
                expect(client.response()?.status, equals: 405)
            case .halfPassedOn, .passedOn:
                client.send("POST /passed HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nha")
                if self == .passedOn { client.send("lf") }
            // More than it reads.
            case .refused: client.send(get("/refused"))
            case .unanswered: client.send(get("/never"))
            }
        }
    }

    /// An upstream that takes the whole body before it says anything, and then says nothing.
    private final class Upstream: ExchangeStreamHandler {
        private let client: ExchangeStream

        init(_ client: ExchangeStream) { self.client = client }

        func clientEnded() { client.abandon() }
        func received(_ bytes: Span<UInt8>) {}
        func receivedEnd() {}
        func drained() {}
        func gone() {}
    }

    private func server(
        places: Int? = nil, timeout: Int64 = 0,
        _ change: (inout HTTPServer.Options) -> Void = { _ in }
    ) throws -> TestServer {
        try TestServer({ options in
            if let places {
                options.loop.maximumConnections = places
                options.loop.timeout = timeout
            }
            change(&options)
        }) { path, _, _ in
            if path == "/passed" { return .streaming { Upstream($0) } }
            if path == "/refused" {
                return .refusal(TestHandler.text(403, [UInt8](repeating: 120, count: 16 << 20)))
            }
            guard path == "/never" else { return nil }
            return .later(within: 600_000, otherwise: { TestHandler.text(204, []) }, gone: nil)
        }
    }

    @Test(arguments: Operation.allCases)
    func `who waits for a client gives way, and who has asked does not`(_ operation: Operation)
        throws
    {
        let server = try server(places: 3)
        var holders: [TestClient] = []
        for _ in 0..<3 {
            let holder = try server.client()
            operation.begin(holder)
            holders.append(holder)
        }
        let next = try server.client(sending: get("/small"))
        if !operation.givesWay {
            // There is a place when one has left.
            holders.removeFirst()
        }
        expect(next.response()?.has(server.objects["/small"]), equals: true)
        // Who came first has waited longest.
        if operation.givesWay, operation != .refused { expect(holders[0].isAtEnd()) }
    }

    @Test("who still sends what was answered gives way first, and to nobody after a moment")
    func stillSending() throws {
        let server = try server(places: 3) { $0.loop.linger = 3_600_000 }
        let page = try server.client()
        Operation.answered.begin(page)
        for _ in 0..<4 {
            let dripping = try server.client()
            Operation.unwantedBody.begin(dripping)
            for byte in [UInt8](repeating: 120, count: 30) { dripping.send([byte]) }
            let next = try server.client()
            Operation.answered.begin(next)
            let another = try server.client()
            Operation.answered.begin(another)
            expect(dripping.isAtEnd())
        }
        Operation.answered.begin(page)
        let short = try self.server { $0.loop.linger = 1 }
        let dripping = try short.client()
        Operation.unwantedBody.begin(dripping)
        expect(dripping.isAtEnd())
    }

    @Test(arguments: [0, 3_600_000] as [Int64])
    func `no request is lost, however many come at once`(timeout: Int64) throws {
        let server = try server(places: 3, timeout: timeout)
        // So that all wait when the first is accepted.
        let hold = DispatchSemaphore(value: 0)
        server.server.loops[0].submit { _ in hold.wait() }
        let clients = try (0..<40).map { _ in
            let client = try server.client(
                sending: "GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            return client
        }
        hold.signal()
        for client in clients { expect(client.response()?.status, equals: 200) }
    }

    @Test("a WebSocket that has not said hello gives way first, and one that has to nobody")
    func greeting() throws {
        let app = try TestApp(TemporaryStore.app())
        let server = try TestServer(
            {
                $0.loop.maximumConnections = 3
                $0.loop.timeout = 0
            }, extra: { _, head, exchange in app.server.handler.answer(head, exchange) })
        let host = "Host: localhost:\(app.port)\r\n"
        let sockets = try (0..<3).map { _ in try socket(server, app) }
        var hello = WebSocketClient(now: .zero)
        greet(sockets[0], &hello)
        let pages = try (0..<3).map { _ in
            let page = try server.client(sending: "GET /app.js HTTP/1.1\r\n\(host)\r\n")
            // Whatever it says: the objects are those of another store.
            expect(page.response() != nil)
            return page
        }
        // Then that page which has been silent longest.
        for client in [sockets[1], sockets[2], pages[0]] { expect(client.isAtEnd()) }
        try expect(app.server.bridge.send("still here"), equals: 1)
        expect(!sockets[0].receive().isEmpty)
    }

    // docs/serving.md, "Limits".
    @Test("the memory for bodies is also that of messages under way, which come later then")
    func messages() throws {
        let app = try TestApp(TemporaryStore.app())
        let server = try TestServer(
            { $0.connection.heldBodiesLimit = 100_000 },
            extra: { path, head, exchange in
                path == "/echo" ? nil : app.server.handler.answer(head, exchange)
            })
        let first = try socket(server, app)
        var page = WebSocketClient(now: .zero)
        greet(first, &page)
        page.send(.text, Array("M 1 0\n".utf8) + [UInt8](repeating: 97, count: 150_000))
        page.withOutput { bytes in
            // What is behind the limit comes while the server already says so.
            first.send(Array(bytes.prefix(100_500)))
            return bytes.count
        }
        var code: CloseCode?
        while code == nil {
            let bytes = first.receive()
            try require(!bytes.isEmpty)
            for case .closed(let reason) in page.receive(bytes, now: .zero) { code = reason.code }
        }
        expect(code, equals: .tryAgainLater)
        let body = try server.client()
        let text = String(repeating: "b", count: 100_000)
        body.send(
            "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(text.count)\r\n\r\n" + text
        )
        expect(body.response()?.status, equals: 200)
    }

    /// A WebSocket of the bridge that has not said hello.
    private func socket(_ server: TestServer, _ app: TestApp) throws -> TestClient {
        let client = try server.client()
        let host = "localhost:\(app.port)"
        client.send(
            "GET /_castree/bridge HTTP/1.1\r\nHost: \(host)\r\nOrigin: http://\(host)\r\n"
                + "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
        expect(client.response()?.status, equals: 101)
        return client
    }

    private func greet(_ client: TestClient, _ page: inout WebSocketClient) {
        page.send(.text, BridgeClient().greeting.bytes)
        page.withOutput { bytes in
            client.send(Array(bytes))
            return bytes.count
        }
        expect(!client.receive().isEmpty)
    }

    // docs/serving.md, "Security".
    @Test("who has never shown the token gives way, whatever it asks for")
    func withoutToken() throws {
        let app = try TestApp(TemporaryStore.app()) {
            $0.requiresToken = true
            $0.dashboard = DashboardTests.Source().dashboard
        }
        let token = try require(app.server.url.split(separator: "/").last)
        let refused = Sink<String>()
        let server = try TestServer(
            { _ in },
            extra: { _, head, exchange in
                let answer = app.server.handler.answer(head, exchange)
                if case .refusal = answer { refused.add(head.text(head.target)) }
                return answer
            })
        let host = "localhost:\(app.port)"
        let requests: [(target: String, host: String, fields: String)] = [
            ("/app.js", host, ""), ("/_castree/bridge.js", host, ""),
            ("/_castree/status", host, ""), ("/_castree/dashboard/", host, ""),
            ("/", host, "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"),
            ("/app.js", "evil.example", ""),
        ]
        for (target, host, fields) in requests {
            let client = try server.client(
                sending: "GET \(target) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n")
            try expect(require(client.response()).status >= 200)
        }
        expect(refused.all, equals: requests.map(\.target))
        let own = try server.client(
            sending: "GET /_castree/bridge.js\(token) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        expect(own.response()?.status, equals: 200)
        expect(refused.all.count, equals: requests.count)
    }

    @Test("half a head gives way before a page that has been answered, whoever came first")
    func halfHead() throws {
        let server = try server(places: 4)
        let page = try server.client()
        Operation.answered.begin(page)
        let halves = try (0..<3).map { _ in
            let half = try server.client()
            Operation.halfHead.begin(half)
            return half
        }
        var others: [TestClient] = []
        for half in halves {
            let next = try server.client()
            others.append(next)
            expect(next.status(get("/small")), equals: 200)
            next.send("GET /text HTTP/1.1\r\nHo")
            expect(half.isAtEnd())
            // The one that was answered now is silent for a shorter time than the page, but the page continues asking.
            Operation.answered.begin(page)
        }
        withExtendedLifetime(others) {}
    }

    @Test
    func `half of the places are not for those who ask other servers, however long these take`()
        throws
    {
        let upstream = try ScriptedUpstream { peer in
            while peer.head() != nil {}
        }
        let table = try ProxyTable(
            [ProxyRoute("/api=http://127.0.0.1:\(upstream.port)")], options: .patient)
        let server = try TestServer({
            $0.loop.maximumConnections = 256
            $0.loop.timeout = 3_600_000
        }) { path, head, _ in path == "/api" ? table.answer(head) : nil }
        // Each has a place, and so has the connection that is made for it.
        let held = try (0..<64).map { _ in
            return try server.client(sending: get("/api"))
        }
        while upstream.connectionCount < 64 {}
        let third = try server.client(sending: get("/api"))
        expect(third.response()?.status, equals: 503)
        Operation.answered.begin(try server.client())
        withExtendedLifetime(held) {}
    }

    @Test func `one client keeps no more than its share once half of the places are taken`() throws
    {
        func server(_ forwarded: ForwardedClients) throws -> TestServer {
            try self.server(places: 8, timeout: 3_600_000) {
                $0.loop.clientConnections = 2
                $0.loop.isUnbound = { _ in false }
                $0.forwarded = forwarded
            }
        }
        let bound = try server(ForwardedClients())
        var clients = try (0..<4).map { _ in
            let client = try bound.client()
            Operation.answered.begin(client)
            return client
        }
        for _ in 0..<3 { expect(try bound.client().isAtEnd()) }
        for client in clients { Operation.answered.begin(client) }
        // Who has ended counts no more: with one place fewer, half are not taken.
        clients.removeLast()
        var isServed = false
        while !isServed {
            let client = try bound.client(sending: get("/text"))
            isServed = client.response()?.status == 200
        }
        // A server in front is many clients.
        let behind = try server(ForwardedClients(by: [try require(AddressBlock("127.0.0.0/8"))]))
        let others = try (0..<8).map { _ in try behind.client() }
        for client in others { Operation.answered.begin(client) }
    }

    @Test func `a client is an address, and of IPv6 the network of one host`() throws {
        func client(_ text: String) throws -> [UInt8] {
            ClientCounts.client(at: try require(SocketAddress(literal: text, port: 1)))
        }
        try expect(client("192.0.2.1") == client("::ffff:192.0.2.1"))
        try expect(client("192.0.2.1") != client("192.0.2.2"))
        try expect(client("2001:db8::1") == client("2001:db8::ffff:2"))
        try expect(client("2001:db8::1") != client("2001:db8:0:1::1"))
        var counts = ClientCounts()
        let one = try client("192.0.2.1")
        expect(counts.add(one) == 1 && counts.add(one) == 2)
        counts.remove(one)
        expect(counts.add(one), equals: 2)
    }
}
