import CASStore
import Foundation
import SocketTestSupport
import Synchronization
import Testing

@testable import ServeFromCAS
@testable import WebServer

/// An upstream that does on each connection what a test's script says, byte by byte.
///
/// Every connection has a thread of its own and is closed when the script returns.
final class ScriptedUpstream: Sendable {
    let port: UInt16
    private let listener: Int32
    private let connections = Mutex(0)
    /// The proxies before it; they run as long as it does.
    private let servers = Mutex<[TestServer]>([])
    /// The requests' heads, in the order of their arrival.
    let heads = Sink<String>()

    var connectionCount: Int { connections.withLock { $0 } }

    init(_ script: @escaping @Sendable (UpstreamPeer) -> Void) throws {
        let listener = try Self.listen()
        self.listener = listener
        port = Socket.port(of: listener)
        let heads = heads
        let isStarted = Parallel.start { [weak self] in
            defer { Socket.close(listener) }
            while true {
                let raw = accept(listener, nil, nil)
                guard raw >= 0 else { return }
                self?.connections.withLock { $0 += 1 }
                _ = Parallel.start { script(UpstreamPeer(raw, heads)) }
            }
        }
        guard isStarted else { throw StoreError(.io, "no thread") }
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

    private static func listen() throws -> Int32 {
        let raw = try Socket.listen(.loopback4(0))
        // Scripts block.
        _ = fcntl(raw, F_SETFL, 0)
        return raw
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// A server that passes `/api` and what is below on to this upstream.
    func proxy(_ options: ProxyOptions = .patient, path: String = "") throws -> TestServer {
        let table = try ProxyTable(
            [ProxyRoute("/api=http://127.0.0.1:\(port)\(path)")], options: options)
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        servers.withLock { $0.append(server) }
        return server
    }
}

/// One connection as its upstream sees it; reads wait, at most two minutes.
final class UpstreamPeer {
    private let raw: Int32
    private let heads: Sink<String>
    private var buffer: [UInt8] = []
    private var isClosed = false

    init(_ raw: Int32, _ heads: Sink<String>) {
        self.raw = raw
        self.heads = heads
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close() }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        Socket.close(raw)
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(raw, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    /// A request's head with its empty line; `nil` at the end.
    @discardableResult
    func head() -> String? {
        guard let head = through([13, 10, 13, 10]) else { return nil }
        let text = String(decoding: head, as: UTF8.self)
        heads.add(text)
        return text
    }

    /// All up to and with `end`.
    func through(_ end: [UInt8]) -> [UInt8]? {
        var scanned = 0
        while true {
            while scanned + end.count <= buffer.count {
                if buffer[scanned..<scanned + end.count].elementsEqual(end) {
                    let all = Array(buffer[..<(scanned + end.count)])
                    buffer.removeFirst(all.count)
                    return all
                }
                scanned += 1
            }
            guard fill() else { return nil }
        }
    }

    /// So many bytes, or fewer at the end.
    func read(_ count: Int) -> [UInt8] {
        while buffer.count < count { guard fill() else { break } }
        let bytes = Array(buffer.prefix(count))
        buffer.removeFirst(bytes.count)
        return bytes
    }

    /// Whether the proxy has closed.
    func isAtEnd() -> Bool { buffer.isEmpty && !fill() }

    func send(_ text: String) { send(Array(text.utf8)) }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes { castreeSend(raw, $0) }
            guard count > 0 else { return }
            sent += count
        }
    }

    private func castreeSend(_ raw: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
        switch Socket.send(raw, bytes, more: false) {
        case .bytes(let count): count
        default: 0
        }
    }

    func finishSending() { shutdown(raw, Int32(SHUT_WR)) }
}

/// A port that is taken and where nobody listens: connecting is refused for certain.
final class BoundPort: Sendable {
    let port: UInt16
    private let raw: Int32

    init() throws {
        raw = TestSocket.make()
        guard TestSocket.bind(raw, to: 0) else { throw StoreError(.io, "no port") }
        port = Socket.port(of: raw)
    }

    deinit { Socket.close(raw) }
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
        Socket.close(ends.reading)
        Socket.close(ends.writing)
    }

    /// Lets one waiter pass.
    func open() {
        var byte: UInt8 = 1
        _ = write(ends.writing, &byte, 1)
    }

    /// Waits for `open`, at most two minutes.
    func wait() {
        var poll = pollfd(fd: ends.reading, events: Int16(POLLIN), revents: 0)
        guard systemPoll(&poll, 1, 120_000) == 1 else {
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

private func systemPoll(_ one: inout pollfd, _ count: nfds_t, _ milliseconds: Int32) -> Int32 {
    poll(&one, count, milliseconds)
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
