import Platform
import WebServer

/// A host that sends every WebSocket message back as it came: what the Autobahn suite talks to.
///
///     WebSocketEcho
///
/// The same server, parser of requests, handshake and frames that the bridge stands on, without the
/// bridge. Prints `Serving at ws://…`; runs until it is ended.
@main
enum WebSocketEcho {
    static func main() async throws {
        var options = HTTPServer.Options()
        options.addresses = [.loopback4(0)]
        let server = try HTTPServer(options, objects: NoObjects()) { _, _ in EchoHandler() }
        try server.start()
        let line = "Serving at ws://127.0.0.1:\(server.port)\n"
        try POSIXFileSystem().write(1, Array(line.utf8))
        await server.waitUntilStopped()
    }
}

private struct EchoHandler: RequestHandler {
    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        do throws(StoreError) {
            switch try WebSocketHandshake.answer(to: head, isAllowedOrigin: true) {
            case .refused(let response): return .response(response)
            case .accepted(let response): return .upgrade(response) { EchoStream($0) }
            }
        } catch {
            return .response(PlainAnswer.response(500, error.message, method: head.method))
        }
    }
}

/// One WebSocket on a loop.
private final class EchoStream: StreamHandler {
    private var socket: WebSocketConnection
    private let begin = ContinuousClock.now
    private var now: Duration { begin.duration(to: .now) }

    init(_ stream: WebServer.Stream) {
        var options = WebSocketConnection.Options()
        // The suite's longest messages (cases 9.*) have 16 MiB.
        options.limits.messageByteCount = 16 << 20
        socket = WebSocketConnection(options: options, now: .zero)
        schedule(stream)
    }

    func received(_ bytes: Span<UInt8>, on stream: WebServer.Stream) {
        let moment = now
        let events = bytes.withUnsafeBytes { socket.receive($0, now: moment) }
        for case .message(let message) in events {
            socket.send(message.kind, head: message.bytes, payload: [])
        }
        send(stream)
    }

    func receivedEnd(on stream: WebServer.Stream) {
        _ = socket.receiveEnd()
        stream.finish()
    }

    func drained(_ stream: WebServer.Stream) { send(stream) }

    func deadlineReached(on stream: WebServer.Stream) {
        _ = socket.advance(to: now)
        send(stream)
    }

    func stopping(_ stream: WebServer.Stream) {
        socket.close(CloseCode(1001), now: now)
        send(stream)
    }

    func closed(_ stream: WebServer.Stream, failure: Int32?) {}

    private func send(_ stream: WebServer.Stream) {
        while socket.outputCount > 0, !stream.isEnding {
            socket.withOutput { bytes in
                stream.send(Array(bytes))
                return bytes.count
            }
        }
        if socket.isFinished { stream.finish() } else { schedule(stream) }
    }

    private func schedule(_ stream: WebServer.Stream) {
        guard !stream.isEnding else { return }
        let left = socket.nextDeadline.map { $0 - now }
        stream.setDeadline(left.map { max(0, $0.components.seconds * 1000 + 1000) })
    }
}

/// No object is ever served.
private struct NoObjects: ObjectSource {
    func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        throw StoreError(.notFound, "this host serves no objects", object: object)
    }
}
