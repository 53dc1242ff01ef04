import Expectations
import SocketTestSupport

@testable import ServeFromCAS
@testable import WebServer

/// An upstream whose answer never comes to an end, wherever: it is given up after what a head may have.
@Suite("An upstream without an end") struct EndlessUpstreamTests {
    enum Place: String, CaseIterable, Sendable {
        case processing, hints, longHints, unknownInterim, unaskedContinue, head, field
        case extensions, trailer

        var flood: FloodServer.Flood {
            let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            let long = String(repeating: "y", count: 1000)
            let (beginning, piece) =
                switch self {
                case .processing: ("", "HTTP/1.1 102 Processing\r\n\r\n")
                case .hints: ("", "HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n")
                case .longHints: ("", "HTTP/1.1 103 Early Hints\r\nA: \(long)\r\n\r\n")
                case .unknownInterim: ("", "HTTP/1.1 199\r\n\r\n")
                case .unaskedContinue: ("", "HTTP/1.1 100 Continue\r\n\r\n")
                case .head: ("HTTP/1.1 200 OK\r\n", "A: \(long)\r\n")
                case .field: ("HTTP/1.1 200 OK\r\nA: ", long)
                case .extensions: (chunked + "1", ";a=\(long)")
                case .trailer: (chunked + "0\r\n", "A: b\r\n")
                }
            return FloodServer.Flood(
                beginning: beginning, piece: Array(piece.utf8), count: (64 << 20) / piece.utf8.count
            )
        }
    }

    @Test(arguments: Place.allCases)
    func `is given up, with 502 while nothing was answered, else by a cut`(_ place: Place) throws {
        let upstream = try FloodServer(place.flood)
        defer { upstream.stop() }
        let table = try ProxyTable(
            [ProxyRoute("/api=http://127.0.0.1:\(upstream.port)")], options: .patient)
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        let client = try server.client(sending: get("/api", "Connection: close\r\n"))
        let (head, rest) = split(client.readAll())
        // The head of an answer may have gone before what follows it turns out to have no end.
        let isCut =
            [.extensions, .trailer].contains(place) && head.hasPrefix("HTTP/1.1 200 ")
            && !unchunked(rest).isWhole
        expect(isCut || head.hasPrefix("HTTP/1.1 502 "), "\(head)")
        // The rest is what sockets hold on their way.
        expect(upstream.byteCount <= 9 << 20, "\(upstream.byteCount)")
    }

    @Test func `interim answers of as many bytes as a head may have are passed over`() throws {
        let interim = "HTTP/1.1 102 Processing\r\n\r\n"
        let count = UpstreamHeadParser.byteLimit / interim.utf8.count
        let upstream = try ScriptedUpstream(
            answering: String(repeating: interim, count: count)
                + "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        let client = try upstream.proxy().client()
        // The next request on the same connection has as many.
        for _ in 0..<2 {
            client.send(get("/api"))
            expect(client.response()?.body, equals: Array("ok".utf8))
        }
    }
}
