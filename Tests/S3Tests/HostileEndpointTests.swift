import CurlTransport
import S3
import SocketTestSupport
import Storage
import StorageTestSupport

/// An endpoint that means harm, over real sockets: every verb ends, and takes no more than it needs.
@Suite("A hostile endpoint") struct HostileEndpointTests {
    enum Attack: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case longBody = "a body of a gigabyte"
        case chunks = "chunks without an end"
        case noLength = "a body without a length and an end"
        case longError = "a refusal of a gigabyte"
        case longFailure = "a failure of a gigabyte"
        case fields = "a head without an end"
        case field = "a field without an end"
        case interim = "interim answers without an end"
        case trailer = "a trailer without an end"
        case errorTrailer = "a refusal's trailer without an end"
        case more = "more bytes than its length"
        case fewer = "fewer bytes than its length"
        case negative = "a negative length"
        case twoLengths = "two lengths"
        case entities = "entities of entities"
        case outside = "an entity of a file"
        case depth = "a million elements in each other"
        case keys = "a million keys"
        case attributes = "a million attributes"
        case unasked = "304, and nobody asked"
        case beyond = "416, and nobody asked"
        case redirects = "redirects in a circle"
        case otherPart = "another part than the one that was asked for"

        var testDescription: String { rawValue }

        private static let gigabyte = 1 << 30
        private static let chunked = "Transfer-Encoding: chunked\r\n\r\n0\r\n"
        private static let trailerField = Array(
            "x: \(String(repeating: "y", count: 1000))\r\n".utf8)

        /// Whether HTTP has no such answer to a GET without a condition.
        var isNoAnswer: Bool {
            switch self {
            case .longError, .longFailure, .fields, .field, .interim, .trailer, .errorTrailer,
                .fewer, .negative, .unasked,
                .beyond, .redirects, .otherPart:
                true
            default: false
            }
        }

        var flood: FloodServer.Flood {
            let zeros = [UInt8](repeating: 0, count: 65_536)
            let head = "HTTP/1.1 200 OK\r\nETag: \"t\"\r\n"
            func endless(_ beginning: String, _ piece: [UInt8]? = nil) -> FloodServer.Flood {
                let piece = piece ?? zeros
                return FloodServer.Flood(
                    beginning: beginning, piece: piece, count: Self.gigabyte / piece.count)
            }
            func whole(_ text: String) -> FloodServer.Flood { FloodServer.Flood(beginning: text) }
            func document(_ text: String, _ piece: String = "", _ count: Int = 0)
                -> FloodServer.Flood
            {
                FloodServer.Flood(
                    beginning: head + "Content-Type: application/xml\r\nConnection: close\r\n\r\n"
                        + "<?xml version=\"1.0\"?>" + text, piece: Array(piece.utf8), count: count)
            }
            switch self {
            case .longBody: return endless(head + "Content-Length: 1073741824\r\n\r\n")
            case .chunks:
                return endless(
                    head + "Transfer-Encoding: chunked\r\n\r\n",
                    Array("10000\r\n".utf8) + zeros + Array("\r\n".utf8))
            case .noLength: return endless(head + "Connection: close\r\n\r\n")
            case .longError:
                return endless("HTTP/1.1 403 Forbidden\r\nContent-Length: 1073741824\r\n\r\n")
            case .longFailure:
                return endless("HTTP/1.1 500 Sorry\r\nContent-Length: 1073741824\r\n\r\n")
            case .fields: return endless(head, Array("x: y\r\n".utf8))
            case .field: return endless(head + "x: ", [UInt8](repeating: 97, count: 65_536))
            case .interim: return endless("", Array("HTTP/1.1 102 Processing\r\n\r\n".utf8))
            case .trailer: return endless(head + Self.chunked, Self.trailerField)
            case .errorTrailer:
                return endless("HTTP/1.1 403 Forbidden\r\n" + Self.chunked, Self.trailerField)
            case .more: return endless(head + "Content-Length: 5\r\n\r\n")
            case .fewer: return whole(head + "Content-Length: 100\r\n\r\nshort")
            case .negative: return whole(head + "Content-Length: -5\r\n\r\nshort")
            case .twoLengths:
                return whole(
                    head + "Content-Length: 5\r\nContent-Length: 1073741824\r\n\r\nshort")
            case .entities:
                var text = "<!DOCTYPE a [<!ENTITY e0 \"xxxxxxxxxx\">"
                for number in 1...20 {
                    let inner = String(repeating: "&e\(number - 1);", count: 10)
                    text += "<!ENTITY e\(number) \"\(inner)\">"
                }
                let more =
                    "]><ListBucketResult><Contents><Key>&e20;</Key></Contents></ListBucketResult>"
                return document(text + more)
            case .outside:
                return document(
                    "<!DOCTYPE a [<!ENTITY e SYSTEM \"file:///etc/passwd\">]><ListBucketResult><Contents>"
                        + "<Key>&e;</Key></Contents></ListBucketResult>")
            case .depth: return document("<ListBucketResult>", "<Contents>", 1_000_000)
            case .keys:
                return document(
                    "<ListBucketResult>",
                    "<Contents><Key>app/k</Key><Size>1</Size><ETag>t</ETag></Contents>", 1_000_000)
            case .attributes: return document("<ListBucketResult", " a=\"b\"", 1_000_000)
            case .unasked: return whole("HTTP/1.1 304 Same\r\n\r\n")
            case .beyond: return whole("HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n")
            case .redirects:
                return whole(
                    "HTTP/1.1 307 There\r\nLocation: /app/a\r\nContent-Length: 0\r\n\r\n")
            case .otherPart:
                return whole(
                    "HTTP/1.1 206 Part\r\nContent-Range: bytes 7-11/12\r\n"
                        + "Content-Length: 5\r\n\r\nother")
            }
        }
    }

    enum Verb: String, CaseIterable, Sendable {
        case get, range, head, list, put, create, replace, delete

        /// Whether it ends with what counts as success, or as a missing file.
        func isBelieved(_ bucket: S3Storage) throws -> Bool {
            let body = try StorageBody(Array("bytes".utf8))
            switch self {
            case .get: return try isThere(bucket.bytes("a", ReadRequest(byteCountMax: 1_000)))
            case .range:
                var request = ReadRequest(byteCountMax: 1_000)
                request.range = 0..<100
                return try isThere(bucket.bytes("a", request))
            case .head: return try bucket.head("a") != nil
            case .list: return try bucket.list(ListRequest(prefix: "")).files.count > 0
            case .put: return try bucket.put("a", body, .object).isStored
            case .create: return try bucket.putIfAbsent("a", body, .object).isStored
            case .replace:
                return try bucket.putIf(
                    "a", body, .object, matching: EntityTag("t"), .quoted
                ).isStored
            case .delete: return try bucket.delete(["a"]).deletedCount > 0
            }
        }

        private func isThere(_ read: (outcome: ReadOutcome, bytes: [UInt8])) -> Bool {
            if case .found = read.outcome { return true }
            return read.bytes.count > 0
        }
    }

    private func bucket(_ server: FloodServer) throws -> S3Storage {
        var options = BucketOptions()
        options.retries.failureCountMax = 2
        options.pause = { _ in }
        return try S3Storage(
            at: "http://127.0.0.1:\(server.port)", CurlBucketCarrier(), options)
    }

    /// What the system may give the buffers of two sockets (tcp(7), tcp_rmem and tcp_wmem), and some more.
    private static let heldByteCount = ["tcp_rmem", "tcp_wmem"].reduce(1 << 20) { sum, name in
        let limits = try? String(contentsOfFile: "/proc/sys/net/ipv4/\(name)", encoding: .utf8)
        return sum
            + (limits?.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) } ?? 4 << 20)
    }

    private static let all = Attack.allCases.flatMap { attack in Verb.allCases.map { (attack, $0) }
    }

    @Test(arguments: TestShare(oneIn: 4, of: "hostile endpoints").of(all))
    func `ends every verb, within its bounds`(_ attack: Attack, _ verb: Verb) throws {
        let server = try FloodServer(attack.flood)
        defer { server.stop() }
        let bucket = try bucket(server)
        var said: StoreError?
        var isBelieved = false
        do {
            isBelieved = try verb.isBelieved(bucket)
        } catch let error as StoreError { said = error }
        // A listing may have 8 MiB, an answer less; the rest is what two sockets hold on their way, for each try.
        let each = (verb == .list ? 8 << 20 : 1 << 20) + Self.heldByteCount
        expect(server.byteCount <= each * max(server.requestCount, 1), "\(attack), \(verb)")
        expect(server.requestCount <= 3)
        expect(bucket.figures.receivedByteCount <= 20 << 20)
        // Bytes prove themselves where they are used; a listing has no proof but its form.
        if verb == .list || attack.isNoAnswer && [.get, .range].contains(verb) {
            expect(!isBelieved, "\(attack), \(verb)")
        }
        if let said {
            expect(!said.message.isEmpty && said.message.utf8.count < 2_000)
            expect(said.code != .interrupted)
        }
    }

    /// Where an answer comes byte by byte.
    enum Drip: String, CaseIterable, Sendable {
        case head, interim, body, chunks, refusal, trailer

        private static let chunked = "Transfer-Encoding: chunked\r\n\r\n"

        var flood: FloodServer.Flood {
            let (beginning, piece) =
                switch self {
                case .head: ("HTTP/1.1 200 OK\r\n", "x: y\r\n")
                case .interim: ("", "HTTP/1.1 102 Processing\r\n\r\n")
                case .body: ("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", "a")
                case .chunks:
                    ("HTTP/1.1 200 OK\r\n" + Self.chunked, "1\r\na\r\n")
                case .refusal: ("HTTP/1.1 403 No\r\nContent-Length: 1000000\r\n\r\n", "a")
                case .trailer:
                    ("HTTP/1.1 200 OK\r\n" + Self.chunked + "0\r\n", "x: y\r\n")
                }
            return FloodServer.Flood(
                beginning: beginning, piece: Array(piece.utf8), count: 1_000_000,
                pauseMilliseconds: 50)
        }
    }

    /// Carries a request to a server that sends pieces of an answer.
    /// - Returns: how that has ended, and how much of a body has come.
    private func carry(
        _ flood: FloodServer.Flood, _ change: (inout CarriedRequest) -> Void
    ) throws -> (end: CarryEnd, byteCount: Int) {
        let server = try FloodServer(flood)
        defer { server.stop() }
        var request = CarriedRequest(
            method: "GET", url: "http://127.0.0.1:\(server.port)/a", fields: [])
        request.usesProxy = false
        (request.stallSeconds, request.paceMilliseconds) = (1, 1_000)
        change(&request)
        var count = 0
        let end = try CurlBucketCarrier().carry(request) { _ in
            true
        } onBytes: {
            count += $0.count
            return true
        }
        return (end, count)
    }

    @Test(.timeLimit(.minutes(60)), arguments: Drip.allCases)
    func `that drips its answer is given up at the least rate, wherever it drips`(
        _ drip: Drip
    ) throws {
        let end = try carry(drip.flood) { _ in }.end
        expect(end.failure, equals: .noAnswer, "\(end)")
    }

    private func bytes(_ count: Int, each milliseconds: Int32) -> FloodServer.Flood {
        FloodServer.Flood(
            beginning: "HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n", piece: [97],
            count: count, pauseMilliseconds: milliseconds)
    }

    @Test func `that brings as much as the least rate asks for is waited for`() throws {
        let end = try carry(bytes(40, each: 50)) { $0.leastByteCount = 5 }.end
        expect(end, equals: .finished)
    }

    @Test func `that sends a byte now and then is given up when its time is over`() throws {
        let (end, count) = try carry(bytes(1_000_000, each: 20)) {
            ($0.stallSeconds, $0.totalMilliseconds, $0.paceMilliseconds) = (60, 300, 60_000)
        }
        expect(end.failure == .noAnswer && count < 1_000)
    }
}
