import Expectations
import Platform
import SocketTestSupport

@testable import ServeFromCAS
@testable import WebServer

/// That of the server; Foundation has one, too.
typealias Stream = WebServer.Stream

/// A loop that runs on no thread: the test says when it looks at its sockets, and what time it is.
///
/// The sockets are real, so that the system's buffers are as they are. What the system needs a moment for
/// is waited for; nothing depends on how long that takes.
final class DrivenLoop {
    let loop: EventLoop
    let stream: Stream
    /// The other end of the stream.
    let client: Int32
    private(set) var readByteCount = 0

    /// - Parameters:
    ///   - sendBuffer: bytes of the system's buffer on the loop's side.
    ///   - receiveBuffer: the same on the client's.
    init(sendBuffer: Int, receiveBuffer: Int) throws {
        loop = try EventLoop()
        let listener = try Socket.listen(.loopback4(0))
        defer { close(listener) }
        // Before the connection is made: the window is agreed on then.
        Self.set(listener, SO_SNDBUF, sendBuffer)
        Self.set(listener, SO_RCVBUF, 16 << 10)
        client = TestSocket.make()
        Self.set(client, SO_RCVBUF, receiveBuffer)
        try require(TestSocket.connect(client, to: Socket.port(of: listener)))
        var accepted: Int32?
        let end = ContinuousClock.now + .seconds(60)
        while accepted == nil, ContinuousClock.now < end {
            if case .success(let socket) = Socket.accept(listener) { accepted = socket }
        }
        let socket = try require(accepted)
        stream = try require(loop.adopt(socket))
    }

    deinit {
        stream.close()
        close(client)
    }

    private static func set(_ socket: Int32, _ option: Int32, _ value: Int) {
        var value = Int32(value)
        setsockopt(socket, SOL_SOCKET, option, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// One round of the loop, so many milliseconds after the last.
    func round(after milliseconds: Int64 = 0) {
        loop.now += milliseconds
        let count = loop.poller.wait(milliseconds: 0)
        for index in 0..<count { loop.handle(loop.poller[index]) }
        loop.takeTurns()
        loop.expire()
        loop.doPostponed()
    }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        let count = bytes.withUnsafeBytes { write(client, $0.baseAddress, $0.count) }
        expect(count, equals: bytes.count)
    }

    /// Rounds of the loop at the same time until something is so; a minute at most.
    func rounds(until isSo: () -> Bool) {
        let end = ContinuousClock.now + .seconds(60)
        while !isSo() {
            round()
            guard ContinuousClock.now < end else {
                Issue.record("it never came")
                return
            }
        }
    }

    /// Reads at most so many bytes that are there; 0 if there are none.
    @discardableResult
    func read(_ count: Int) -> Int {
        var chunk = [UInt8](repeating: 0, count: count)
        let got = max(0, recv(client, &chunk, count, Int32(MSG_DONTWAIT)))
        readByteCount += got
        return got
    }

    /// Bytes that the client's system has not taken.
    var unacknowledged: Int { Socket.unacknowledgedByteCount(stream.socket) }
}
