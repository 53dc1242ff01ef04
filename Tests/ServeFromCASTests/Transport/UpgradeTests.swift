import CASStore
import Expectations

@testable import ServeFromCAS

/// Sends everything back, upper case; `.` ends it.
private final class Shouter: StreamHandler {
    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        var answer: [UInt8] = []
        for index in bytes.indices {
            let byte = bytes[index]
            answer.append(byte >= 97 && byte <= 122 ? byte - 32 : byte)
        }
        stream.send(answer)
        if answer.last == 46 { stream.finish() }
    }
    func receivedEnd(on stream: Stream) { stream.finish() }
    func closed(_ stream: Stream, failure: Int32?) {}
}

/// Says when its deadline has come.
private final class Waiter: StreamHandler {
    init(_ stream: Stream) { stream.setDeadline(1) }
    func received(_ bytes: Span<UInt8>, on stream: Stream) {}
    func receivedEnd(on stream: Stream) { stream.finish() }
    func deadlineReached(on stream: Stream) {
        stream.send(Array("late".utf8))
        stream.finish()
    }
    func closed(_ stream: Stream, failure: Int32?) {}
}

/// Copies a stream into an exchange: the least a proxy can be.
private final class Pump: StreamHandler, ExchangeStreamHandler {
    let exchange: ExchangeStream
    var outbound: Stream?
    var hasHead = false

    init(_ exchange: ExchangeStream, port: UInt16) {
        self.exchange = exchange
        do { outbound = try exchange.loop.connect(to: .loopback4(port), handler: self) } catch {
            exchange.fail(TestHandler.text(502, []))
        }
    }

    // The client's side.
    func received(_ bytes: Span<UInt8>) {
        outbound?.send(bytes.withUnsafeBufferPointer { Array($0) })
        if let outbound, outbound.queuedByteCount > 65_536 { exchange.pauseBody() }
    }
    func receivedEnd() {}
    func drained() { outbound?.resumeReading() }
    func gone() { outbound?.close() }

    // The other side: what it says is the body.
    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        if !hasHead { exchange.put(ResponseHead(200), .chunked) }
        hasHead = true
        exchange.put(bytes)
        exchange.flush()
        if !exchange.hasRoom { stream.pauseReading() }
    }
    func drained(_ stream: Stream) { exchange.resumeBody() }
    func receivedEnd(on stream: Stream) { stream.close() }
    func closed(_ stream: Stream, failure: Int32?) {
        outbound = nil
        if hasHead { exchange.finish() } else { exchange.fail(TestHandler.text(502, [])) }
    }
}

@Suite("A stream that leaves HTTP")
struct UpgradeTests {
    @Test func `gets the bytes after the head first, then all others, both ways`() throws {
        let server = try TestServer.answering { path, _, _ in
            guard path == "/shout" else { return nil }
            var head = ResponseHead(101)
            head.add("Upgrade", "shout")
            return .upgrade(head) { _ in Shouter() }
        }
        let client = try server.client()
        client.send(
            get("/text") + get("/shout", "Upgrade: shout\r\nConnection: upgrade\r\n") + "abc")
        expect(client.response()?.status, equals: 200)
        let response = try require(client.response())
        expect(response.status, equals: 101)
        expect(response.value("Connection"), equals: "Upgrade")
        client.send("def")
        client.send(".")
        expect(client.readAll(), equals: Array("ABCDEF.".utf8))
    }

    @Test func `keeps the deadline that its new handler sets when it is made`() throws {
        let server = try TestServer.answering { path, _, _ in
            guard path == "/wait" else { return nil }
            var head = ResponseHead(101)
            head.add("Upgrade", "wait")
            return .upgrade(head) { stream in Waiter(stream) }
        }
        let client = try server.client()
        client.send(get("/wait", "Upgrade: wait\r\nConnection: upgrade\r\n"))
        try expect(require(client.response()).status, equals: 101)
        expect(client.readAll(), equals: Array("late".utf8))
    }

    @Test("carries a request and its answer to another server and back, with back-pressure")
    func pump() throws {
        let upstream = try TestServer()
        let port = upstream.port
        let server = try TestServer.answering { path, _, _ in
            guard path == "/pump" else { return nil }
            return .streaming { exchange in Pump(exchange, port: port) }
        }
        let client = try server.client()
        let inner = get("/huge", "Connection: close\r\n")
        client.send(
            "POST /pump HTTP/1.1\r\nHost: x\r\nContent-Length: \(inner.utf8.count)\r\n\r\n" + inner)
        // The client asks again on the same connection only when it knows where the answer ended.
        client.finishSending()
        let all = client.readAll()
        expect(all.suffix(5), equals: Array("0\r\n\r\n".utf8)[...])
        expect(String(decoding: all.prefix(200), as: UTF8.self).contains("chunked"))
        expect(all.count > 8 << 20)
    }

    @Test func `is cut, with the other side, when the client reads nothing`() throws {
        let upstream = try TestServer()
        let port = upstream.port
        let server = try TestServer(
            { $0.connection.progressWindow = 200 },
            extra: { path, _, _ in
                guard path == "/pump" else { return nil }
                return .streaming { exchange in Pump(exchange, port: port) }
            })
        let client = try server.client()
        let inner = String(repeating: get("/huge"), count: 4)
        client.send(
            "POST /pump HTTP/1.1\r\nHost: x\r\nContent-Length: \(inner.utf8.count)\r\n\r\n" + inner)
        // Others live through windows enough for the first to be cut.
        for _ in 0..<4 {
            let other = try server.client()
            other.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            _ = other.readAll()
        }
        let all = client.readAll()
        expect(all.count < 4 * (8 << 20))
        expect(!all.suffix(5).elementsEqual(Array("0\r\n\r\n".utf8)))
    }

    @Test func `and a server that is not there is told so`() throws {
        let taken = try BoundPort()
        let port = taken.port
        let server = try TestServer.answering { path, _, _ in
            guard path == "/pump" else { return nil }
            return .streaming { exchange in Pump(exchange, port: port) }
        }
        let client = try server.client()
        expect(client.status(get("/pump") + get("/text")), equals: 502)
        expect(client.response()?.status, equals: 200)
        withExtendedLifetime(taken) {}
    }
}
