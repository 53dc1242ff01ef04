import Expectations
import Platform

@testable import ServeFromCAS
@testable import WebServer

/// Answers every request with the same bytes.
private struct LongAnswers: RequestHandler {
    let body: [UInt8]
    func answer(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        .response(TestHandler.text(200, body))
    }
}

private struct NoObjects: ObjectSource {
    func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent {
        throw StoreError(.notFound, "there are none")
    }
}

private final class Silent: StreamHandler {
    func received(_ bytes: Span<UInt8>, on stream: Stream) {}
    func receivedEnd(on stream: Stream) {}
    func closed(_ stream: Stream, failure: Int32?) {}
}

// docs/serving.md, "Limits": a reader of an answer is closed that takes less than 4 KiB in 10 s.
@Suite("A reader that is slow")
struct SlowReaderTests {
    private static let window: Int64 = 10_000

    /// A connection that was asked for a long answer, and has sent what the system took of it.
    private func asked(
        _ fields: String, sendBuffer: Int, receiveBuffer: Int, byteCount: Int = 4 << 20
    ) throws -> DrivenLoop {
        let driven = try DrivenLoop(sendBuffer: sendBuffer, receiveBuffer: receiveBuffer)
        let context = ConnectionContext(
            handler: LongAnswers(body: [UInt8](repeating: 7, count: byteCount)),
            objects: NoObjects(), options: ConnectionOptions(), bodies: BodyBudget(0), log: nil)
        driven.stream.handler = HTTPConnection(driven.stream, context)
        driven.send(get("/", fields))
        driven.rounds { driven.stream.hasQueued }
        return driven
    }

    /// Reads until the loop has sent so much more.
    private func read(_ driven: DrivenLoop, until count: Int64) {
        let wanted = driven.stream.sentByteCount + count
        driven.rounds {
            driven.read(16 << 10)
            return driven.stream.sentByteCount >= wanted || !driven.stream.hasQueued
        }
    }

    @Test(
        "gets all of an answer that ends its connection, however many minutes that takes",
        arguments: ["Connection: close\r\n", ""])
    func steady(_ fields: String) throws {
        let driven = try asked(fields, sendBuffer: 64 << 10, receiveBuffer: 64 << 10)
        for _ in 0..<20 {
            read(driven, until: 8 << 10)
            driven.round(after: Self.window)
            try require(!driven.stream.isClosed)
        }
        expect(driven.stream.hasQueued)
        driven.rounds {
            driven.read(64 << 10)
            return driven.readByteCount > 4 << 20
        }
    }

    @Test(arguments: ["Connection: close\r\n", ""])
    func `is cut when it reads nothing for one window`(_ fields: String) throws {
        let driven = try asked(fields, sendBuffer: 64 << 10, receiveBuffer: 64 << 10)
        // What is on its way to the client's own buffer arrives.
        driven.round()
        for _ in 0..<2 where !driven.stream.isClosed { driven.round(after: Self.window) }
        expect(driven.stream.isClosed)
    }

    @Test func `is seen to read although the system has no space for more yet`() throws {
        let driven = try asked(
            "", sendBuffer: 4 << 20, receiveBuffer: 32 << 10, byteCount: 16 << 20)
        for _ in 0..<4 {
            let before = (driven.unacknowledged, driven.stream.sentByteCount)
            driven.rounds {
                driven.read(4 << 10)
                // It has taken enough, as the system knows.
                return Int(driven.stream.sentByteCount - before.1) + before.0
                    - driven.unacknowledged >= 4096
            }
            driven.round(after: Self.window)
            try require(!driven.stream.isClosed)
        }
        for _ in 0..<2 where !driven.stream.isClosed { driven.round(after: Self.window) }
        expect(driven.stream.isClosed)
    }

    @Test func `holds no stream that was told to finish, a WebSocket's or a tunnel's`() throws {
        let driven = try DrivenLoop(sendBuffer: 64 << 10, receiveBuffer: 64 << 10)
        driven.stream.handler = Silent()
        driven.stream.send([UInt8](repeating: 1, count: 4 << 20))
        expect(driven.stream.hasQueued)
        driven.stream.finish()
        for _ in 0..<10 {
            read(driven, until: 8 << 10)
            driven.round(after: Self.window)
            try require(!driven.stream.isClosed)
        }
        // A deadline of its handler's, from before or set since, is none of a finished stream's.
        driven.stream.setDeadline(nil)
        for _ in 0..<2 where !driven.stream.isClosed { driven.round(after: Self.window) }
        expect(driven.stream.isClosed)
    }
}
