import ServeFromCAS
@_exported import SocketTestSupport
import StorageTestSupport

/// A blocking TCP client that sends exactly the bytes it is told to.
///
/// A read that waits longer than two minutes ends the test: a server must never hang, but a machine
/// with other work may be slow.
typealias TestClient = TestPeer

extension TestPeer {
    /// Connects to `::1`; `nil` where the system has no IPv6.
    convenience init?(port6 port: UInt16) throws {
        do {
            self.init(try TestSocket.connected(to: port, isIPv6: true), isClient: true)
        } catch let refusal as TestSocket.Refusal {
            if [EAFNOSUPPORT, EADDRNOTAVAIL, ENETUNREACH].contains(refusal.number) { return nil }
            throw refusal
        }
    }

    convenience init(port: UInt16) throws {
        self.init(try TestSocket.connected(to: port), isClient: true)
    }

    /// The status that a request is answered with; `nil` if the connection ends before the response is whole.
    func status(_ request: String) -> Int? {
        send(request)
        return response()?.status
    }

    /// A response, by its Content-Length; `nil` if the connection ends before it is whole.
    func response(toHead: Bool = false) -> TestResponse? {
        while true {
            var missing = 0
            if let response = TestResponse(&buffer, toHead: toHead, missing: &missing) {
                return response
            }
            let wanted = buffer.count + missing
            while buffer.count < wanted { guard fill() else { return nil } }
        }
    }
}

/// A response as a client sees it.
struct TestResponse: Sendable {
    var status: Int
    var head: String
    var body: [UInt8]

    /// Takes a response off the front of `buffer`.
    ///
    /// `missing` says how many bytes it is missing at least, if it is not whole.
    init?(_ buffer: inout [UInt8], toHead: Bool = false, missing: inout Int) {
        missing = 1
        var end = 0
        while end + 4 <= min(buffer.count, 16_384), buffer[end..<end + 4] != [13, 10, 13, 10] {
            end += 1
        }
        guard end + 4 <= min(buffer.count, 16_384) else { return nil }
        head = String(decoding: buffer[..<end], as: UTF8.self)
        guard head.hasPrefix("HTTP/1.1 "), let status = Int(head.dropFirst(9).prefix(3)) else {
            return nil
        }
        self.status = status
        let bodyless = toHead || status < 200 || status == 204 || status == 304
        let length = bodyless ? 0 : Self.value("Content-Length", head).flatMap(Int.init) ?? 0
        let whole = end + 4 + length
        missing = whole - buffer.count
        guard missing <= 0 else { return nil }
        body = Array(buffer[end + 4..<whole])
        buffer.removeFirst(whole)
    }

    init?(_ buffer: inout [UInt8]) {
        var missing = 0
        self.init(&buffer, missing: &missing)
    }

    func value(_ name: String) -> String? { Self.value(name, head) }

    /// Whether the body is this: without printing a megabyte when it is not.
    func has(_ bytes: [UInt8]?) -> Bool { bytes == body }

    private static func value(_ name: String, _ head: String) -> String? {
        for line in head.split(separator: "\r\n")
        where line.lowercased().hasPrefix(name.lowercased() + ":") {
            return String(line.dropFirst(name.count + 1).drop { $0 == " " })
        }
        return nil
    }
}

/// A server on a port of its own, over a store with a few objects.
///
/// `/small`, `/large` and `/huge` are objects of 1 KB, 1 MB and 8 MB; `/text` is in memory; `/echo`
/// answers with the body; other paths are the test's own, or 404.
final class TestServer: Sendable {
    let store: TemporaryStore
    let server: HTTPServer
    let objects: [String: [UInt8]]
    let ids: [String: ObjectID]
    var port: UInt16 { server.port }

    /// Made once: a debug build takes its time over eight megabytes.
    private static let content: [String: [UInt8]] = {
        var result: [String: [UInt8]] = [:]
        let pattern = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 / 7 + $0 % 251) }
        for (name, size) in [("/small", 1024), ("/large", 1 << 20), ("/huge", 8 << 20)] {
            var bytes: [UInt8] = []
            while bytes.count < size { bytes += pattern.prefix(size - bytes.count) }
            result[name] = bytes
        }
        return result
    }()

    init(
        loops: Int = 1, _ change: (inout HTTPServer.Options) -> Void = { _ in },
        extra: @escaping @Sendable (String, RequestHead, Exchange) -> Answer? = { _, _, _ in nil }
    ) throws {
        store = try TemporaryStore()
        var ids: [String: ObjectID] = [:]
        let lease = try store.versions.store.makeLease()
        for (name, bytes) in Self.content {
            ids[name] = try store.versions.store.put(bytes, protectedBy: lease)
        }
        objects = Self.content
        self.ids = ids
        var options = HTTPServer.Options()
        options.loops = loops
        options.connection = .patient
        let (damage, log) = (Sink<StoreError>(), Sink<AccessRecord>())
        damageSink = damage
        logSink = log
        options.onDamage = { damage.add($0) }
        options.accessLog = { log.add($0) }
        change(&options)
        let handler = TestHandler(objects: objects, ids: ids, extra: extra)
        server = try HTTPServer(options, objects: ContentCache(store.versions.store)) { _, _ in
            handler
        }
        try server.start()
    }

    /// A server whose test answers some paths itself.
    static func answering(
        _ extra: @escaping @Sendable (String, RequestHead, Exchange) -> Answer?
    ) throws -> TestServer {
        try TestServer({ _ in }, extra: extra)
    }

    let damageSink: Sink<StoreError>
    let logSink: Sink<AccessRecord>

    deinit { server.stop(within: 0) }

    /// Where an object's file stands.
    func file(_ name: String) -> String { ids[name].map { store.objectPath($0) } ?? "" }

    func client(sending text: String? = nil) throws -> TestClient {
        let client = try TestClient(port: port)
        if let text { client.send(text) }
        return client
    }

    /// What the server says to these bytes when nothing follows them.
    func talk(_ bytes: [UInt8]) throws -> [UInt8] {
        let client = try client()
        client.send(bytes)
        client.finishSending()
        return client.readAll()
    }
}

extension ConnectionOptions {
    /// As usual, but nobody is cut for being slow: what a test is not about must not end it.
    static var patient: ConnectionOptions {
        var options = ConnectionOptions()
        options.headDeadline = 3_600_000
        options.idle = 3_600_000
        options.progressWindow = 3_600_000
        return options
    }
}

/// Whether connections to a port are refused, sooner or later.
///
/// A process that another test starts keeps a listener open for the moment between fork and exec.
func isRefused(_ port: UInt16) -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while ContinuousClock.now < end {
        // That it cannot connect is what is looked for.
        guard (try? TestClient(port: port)) != nil else { return true }
    }
    return false
}

/// Things that other threads report.
final class Sink<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func add(_ element: Element) { elements.withLock { $0.append(element) } }
}

struct TestHandler: RequestHandler {
    let objects: [String: [UInt8]]
    let ids: [String: ObjectID]
    let extra: @Sendable (String, RequestHead, Exchange) -> Answer?

    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        let path = head.text(head.path)
        if let answer = extra(path, head, exchange) { return answer }
        if path == "/echo" {
            return .readBody(limit: 100_000) { _, body, _ in .response(Self.text(200, body)) }
        }
        guard head.method == .get || head.method == .head else {
            return .response(Self.text(405, []))
        }
        if path == "/text" { return .response(Self.text(200, Array("text".utf8))) }
        guard let bytes = objects[path], let id = ids[path] else {
            return .response(Self.text(404, []))
        }
        var response = ResponseHead(200)
        response.add("Content-Length", "\(bytes.count)")
        guard head.method == .get else { return .response(Response(head: response)) }
        let size = Int64(bytes.count)
        return .response(
            Response(head: response, body: .piece(.object(id, range: 0..<size, size: size))))
    }

    static func text(_ status: Int, _ body: [UInt8]) -> Response {
        var head = ResponseHead(status)
        head.add("Content-Length", "\(body.count)")
        return Response(head: head, body: .piece(.bytes(body)))
    }
}

/// A GET with further fields, each with its line end.
func get(_ path: String, _ fields: String = "") -> String {
    "GET \(path) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n"
}
