import SocketTestSupport
import StorageTestSupport

@testable import ServeFromCAS

/// An upstream that does on each connection what a test's script says, byte by byte.
///
/// Every connection has a thread of its own and is closed when the script returns.
final class ScriptedUpstream: Sendable {
    private let server: ScriptedServer
    /// The proxies before it; they run as long as it does.
    private let servers = Mutex<[TestServer]>([])
    /// The requests' heads, in the order of their arrival.
    let heads: Sink<String>

    var port: UInt16 { server.port }
    var connectionCount: Int { server.connectionCount }

    /// - Parameter afterHead: the head of a request is read before the script begins.
    init(
        afterHead: Bool = false, _ script: @escaping @Sendable (TestPeer) -> Void
    ) throws {
        let heads = Sink<String>()
        self.heads = heads
        server = try ScriptedServer { peer in
            peer.noteHead = { heads.add($0) }
            if afterHead { peer.head() }
            script(peer)
        }
    }

    /// An upstream that gives the same bytes to every request, and closes or waits for the next one.
    convenience init(answering answer: String, closes: Bool = false) throws {
        try self.init { peer in
            while peer.head() != nil {
                peer.send(answer)
                if closes { return }
            }
        }
    }

    /// An upstream that answers each request with its path.
    static func ofPaths() throws -> ScriptedUpstream {
        try ScriptedUpstream { peer in
            while let head = peer.head() {
                let path = head.split(separator: " ")[1]
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(path.utf8.count)\r\n\r\n\(path)")
            }
        }
    }

    /// A server that passes `/api` and what is below on to this upstream.
    func proxy(_ options: ProxyOptions = .patient, path: String = "") throws -> TestServer {
        let table = try ProxyTable(
            [ProxyRoute("/api=http://127.0.0.1:\(port)\(path)")], options: options)
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        servers.withLock { $0.append(server) }
        return server
    }
}

/// A port that is taken and where nobody listens: connecting is refused for certain.
final class BoundPort: Sendable {
    let port: UInt16
    private let raw: Int32

    init() throws {
        raw = TestSocket.make()
        guard TestSocket.bind(raw, to: 0) else { throw StoreError(.io, "no port") }
        port = TestSocket.port(of: raw)
    }

    deinit { TestSocket.end(raw) }
}

/// A latch that threads wait at: no test sleeps.
final class Gate: Sendable {
    private let ends: (reading: Int32, writing: Int32)

    init() throws {
        var pair: [Int32] = [-1, -1]
        guard pipe(&pair) == 0 else { throw StoreError(.io, "no pipe") }
        ends = (pair[0], pair[1])
    }

    deinit {
        TestSocket.end(ends.reading)
        TestSocket.end(ends.writing)
    }

    /// Lets one waiter pass.
    func open() {
        var byte: UInt8 = 1
        _ = write(ends.writing, &byte, 1)
    }

    /// Waits for `open`, at most two minutes.
    func wait() {
        var look = pollfd(fd: ends.reading, events: Int16(POLLIN), revents: 0)
        guard poll(&look, 1, 120_000) == 1 else {
            Issue.record("the gate stayed shut for two minutes")
            return
        }
        var byte: UInt8 = 0
        _ = read(ends.reading, &byte, 1)
    }
}

/// The body of a chunked answer, and whether it was whole.
func unchunked(_ bytes: [UInt8]) -> (body: [UInt8], isWhole: Bool) {
    var decoder = ChunkedDecoder()
    var body: [UInt8] = []
    do {
        let used = try decoder.decode(bytes.span, into: &body, limit: Int.max)
        return (body, decoder.isDone && used == bytes.count)
    } catch {
        return (body, false)
    }
}

/// Head and rest of what a connection carried.
func split(_ bytes: [UInt8]) -> (head: String, rest: [UInt8]) {
    var end = 0
    while end + 4 <= bytes.count, bytes[end..<end + 4] != [13, 10, 13, 10] { end += 1 }
    guard end + 4 <= bytes.count else { return (String(decoding: bytes, as: UTF8.self), []) }
    return (String(decoding: bytes[..<end], as: UTF8.self), Array(bytes[(end + 4)...]))
}

extension ProxyOptions {
    /// As usual, but a machine under load loses no connection to a time-out.
    static var patient: ProxyOptions {
        var options = ProxyOptions()
        options.poolIdle = 3_600_000
        options.poolFresh = 3_600_000
        options.connect = 3_600_000
        options.head = 3_600_000
        options.stall = 3_600_000
        return options
    }
}
