import StorageTestSupport

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
        let client = try server.client(
            sending: get("/wait", "Upgrade: wait\r\nConnection: upgrade\r\n"))
        try expect(require(client.response()).status, equals: 101)
        expect(client.readAll(), equals: Array("late".utf8))
    }
}
