import CurlTransport
import Expectations
import HotPush
import SocketTestSupport

/// A server whose answers have no end, wherever an answer may have fields: each transfer ends, and a few sockets' worth
/// of bytes is all that it takes.
@Suite("A transfer without an end") struct EndlessAnswerTests {
    enum Place: String, CaseIterable, Sendable {
        case head, field, interim, trailer, longTrailer, trailerField

        func flood(_ status: String) -> FloodServer.Flood {
            func endless(_ beginning: String, _ piece: String) -> FloodServer.Flood {
                // 64 MiB, of which a transfer without a bound would keep all.
                FloodServer.Flood(
                    beginning: beginning, piece: Array(piece.utf8),
                    count: (64 << 20) / piece.utf8.count)
            }
            let head = "HTTP/1.1 \(status)\r\nLocation: /again\r\n"
            let chunked = head + "Transfer-Encoding: chunked\r\n\r\n0\r\n"
            let line = "x: \(String(repeating: "y", count: 1000))\r\n"
            return switch self {
            case .head: endless(head, line)
            case .field: endless(head + "x: ", String(repeating: "y", count: 65_536))
            case .interim: endless("", "HTTP/1.1 103 Hints\r\n\(line)\r\n")
            case .trailer: endless(chunked, "a:b\r\n")
            case .longTrailer: endless(chunked, line)
            case .trailerField: endless(chunked + "x: ", String(repeating: "y", count: 65_536))
            }
        }
    }

    private static let trailers: [Place] = [.trailer, .longTrailer, .trailerField]

    enum Use: String, CaseIterable, Sendable {
        case taken, discarded, redirect
    }

    @Test(arguments: Place.allCases, Use.allCases)
    func `ends, wherever the flood is and whatever the answer is for`(
        _ place: Place, _ use: Use
    ) throws {
        let server = try FloodServer(place.flood(use == .redirect ? "302 There" : "200 OK"))
        defer { server.stop() }
        let options = TransportOptions.local
        let result = try fetch("http://127.0.0.1:\(server.port)/f", options) { _ in
        } decide: { _ in
            use == .discarded ? .discard : .take
        }
        if use == .discarded, Self.trailers.contains(place) {
            expect(result.outcome, equals: .finished)
        } else {
            // A redirect that leads to itself ends as one, if its head has an end.
            let isFollowed = use == .redirect && Self.trailers.contains(place)
            expect(result.failure, equals: isFollowed ? .redirect : .malformed)
        }
        // The library's words for it are of its memory.
        if case .failed(let failure) = result.outcome {
            expect(!failure.message.contains("ut of memory"), "\(failure.message)")
        }
        expect(result.bytes, equals: [])
        // The rest is what two sockets hold on their way.
        expect(server.byteCount <= (9 << 20) * server.requestCount, "\(server.byteCount)")
    }
}
