import Expectations

/// A real HTTP/1.1 server on a loopback socket that misbehaves as a test tells it to.
///
/// It serves a dictionary of path to ``Content`` with entity tags, ranges (`Range`, `If-Range`) and
/// conditions (`If-None-Match`), keeps connections open, and records every request. Faults are put
/// on a path, in the order of the requests that they will spoil:
///
///     let origin = try FaultyOrigin(["/app.js": Content(script)])
///     origin.play([.cut(after: 1000), .status(503, retryAfter: "1")], on: "/app.js")
///     // The first request for /app.js is cut, the second gets a 503, the third its file.
///     origin.always(.page, on: "/other.css")
///     // … pull from origin.url …
///     expect(origin.requests(for: "/app.js").map { $0["range"] } == [nil, "bytes=1000-", …])
///
/// Content may be changed at any time with ``put(_:at:)``. ``close()`` refuses connections and
/// breaks off those that are open; ``reopen()`` listens on the same port again. The server ends with
/// its last owner. Every connection has a thread of its own; all methods may be called from any.
final class FaultyOrigin: Sendable {
    /// The port it listens on, closed or not.
    let port: UInt16
    /// What its threads share with it; they do not keep it alive.
    let state: OriginState

    /// Starts a server for `contents`: path, with its slash, to content.
    init(_ contents: [String: Content] = [:]) throws {
        state = OriginState(contents)
        // Below the ports that the system gives to outgoing connections: nobody takes this one while
        // the server is closed.
        for _ in 0..<1000 {
            let candidate = UInt16.random(in: 20_000..<32_768)
            if let listener = OriginSocket.listen(candidate) {
                port = candidate
                state.accept(on: listener)
                return
            }
        }
        throw POSIXError(.EADDRINUSE)
    }

    deinit { state.close() }

    /// `http://127.0.0.1:port`, without a slash behind it.
    var url: String { "http://127.0.0.1:\(port)" }

    // MARK: Content

    /// Serves `content` at `path` from now on; nil for 404.
    func put(_ content: Content?, at path: String) {
        state.shared.withLock { $0.contents[path] = content }
    }

    /// Serves exactly these from now on.
    func replaceAll(_ contents: [String: Content]) {
        state.shared.withLock { $0.contents = contents }
    }

    /// Serves exactly the files of an origin of castree's from now on.
    func serve(_ files: [String: [UInt8]]) {
        var contents: [String: Content] = [:]
        for (path, bytes) in files {
            let type = path.hasSuffix(".json") ? "application/json" : "application/octet-stream"
            contents["/" + path] = Content(bytes, type: type)
        }
        replaceAll(contents)
    }

    // MARK: Faults

    /// Plays `faults` on the next requests for `path`, one each; ``Fault/none`` spares one.
    ///
    /// Behind those that wait already. The path `*` means every path that has no faults of its own.
    func play(_ faults: [Fault], on path: String = "*") {
        state.shared.withLock { $0.faults[path, default: []] += faults }
    }

    /// Plays `fault` on every request for `path` whose turn no other fault has; nil for no more.
    func always(_ fault: Fault?, on path: String = "*") {
        state.shared.withLock { $0.lasting[path] = fault }
    }

    /// Calls `action` when a request for `path` has come and before it is answered.
    func before(_ path: String, _ action: @escaping @Sendable (OriginRequest) -> Void) {
        state.shared.withLock { $0.actions[path] = action }
    }

    /// Ends every connection as soon as it is accepted, before a byte of it is read; nil for no more.
    func slam(_ ending: Fault.Ending?) { state.shared.withLock { $0.slamming = ending } }

    func close() {
        state.close()
        // Another test's server would answer in its place.
        state.hold(port)
    }

    func reopen() throws {
        guard let listener = OriginSocket.listen(port) else { throw POSIXError(.EADDRINUSE) }
        state.accept(on: listener)
        state.hold(nil)
    }

    // MARK: What happened

    /// All requests, in the order in which their heads were complete.
    var requests: [OriginRequest] { state.shared.withLock { $0.requests } }

    func requests(for path: String) -> [OriginRequest] { requests.filter { $0.path == path } }

    func forgetRequests() { state.shared.withLock { $0.requests = [] } }

    var connectionCount: Int { state.shared.withLock { $0.connectionCount } }
}

/// A file as the server has it.
struct Content: Sendable {
    var bytes: [UInt8]
    /// The entity tag as it is sent, with quotes, `W/"x"` if it is weak; nil for none.
    var tag: String?
    var lastModified: String?
    var type = "application/octet-stream"

    /// Content with a strong tag that differs for different bytes.
    init(_ bytes: [UInt8], type: String = "application/octet-stream") {
        self.bytes = bytes
        self.type = type
        tag = "\"\(bytes.count)-\(Gzip.checksum(bytes))\""
    }

    init(_ text: String, type: String = "text/plain") { self.init(Array(text.utf8), type: type) }

    func tagged(_ tag: String?) -> Content {
        var other = self
        other.tag = tag
        return other
    }

    func modified(_ date: String) -> Content {
        var other = self
        other.lastModified = date
        return other
    }
}

struct OriginRequest: Sendable {
    var method: String
    /// With its query.
    var target: String
    /// Names in lower case.
    var fields: [(name: String, value: String)]
    /// Which connection it came on, counted from 1.
    var connection: Int

    var path: String { String(target.prefix { $0 != "?" }) }
    subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// What the server does wrong, or at least in an unusual way, with one request.
enum Fault: Sendable {
    enum Ending: Sendable {
        /// As if all were well (FIN).
        case closed
        /// Broken off (RST); the client may lose bytes that it has not read yet.
        case reset
    }

    /// Nothing: the right answer.
    case none
    /// The connection ends instead of an answer.
    case hangUp(Ending = .closed)
    /// The right head, so many bytes of the right body, then the end of the connection.
    case cut(after: Int, Ending = .closed)
    /// The right head, so many bytes of the right body, then nothing until the client goes.
    case stall(after: Int)
    /// Nothing at all until the client goes.
    case silence
    /// The right answer, its body byte by byte with so much time between.
    case drip(milliseconds: Int32)
    /// `Content-Length` says so many bytes more (or, below 0, fewer) than are sent.
    case announce(more: Int)
    /// The right head, entity tag included, before inverted bytes.
    case wrongBytes
    /// Encoded with gzip, whatever was asked for.
    case gzip
    /// 200 and the whole, whatever range was asked for.
    case ignoreRange
    /// 206 from so many bytes later (or, below 0, earlier) than was asked for.
    case shiftRange(by: Int)
    /// The right bytes of a range; `Content-Range` says this total.
    case total(String)
    /// 206 with so many bytes at most, as a server may send (RFC 9110, section 15.3.7).
    case less(thanAsked: Int)
    /// 206 without `Content-Range`.
    case anonymousRange
    /// 206 with `multipart/byteranges`.
    case multipart
    /// 416; with `Content-Range: bytes */total` if there is a total.
    case unsatisfiable(total: Int?)
    /// This status with a short text.
    case status(Int, retryAfter: String? = nil)
    /// A redirect to this `Location`.
    case redirect(to: String, status: Int = 302)
    /// The right answer with this tag instead of its own; nil for none.
    case tag(String?)
    /// 200 and an HTML page, as from a captive portal or a server that answers everything.
    case page
    /// These bytes instead of an answer, then the end of the connection.
    case raw(String)
    /// The right answer in chunks (RFC 9112, section 7.1); cut before the last if asked.
    case chunked(isCut: Bool = false)
    /// An interim response (103) with fields of its own before the right answer.
    case interim
    /// So many interim responses (103) with so much time between, before the right answer.
    case interims(Int, milliseconds: Int32)
    /// The right answer, its head line by line with so much time between.
    case dripHead(milliseconds: Int32)
    /// The right head, so many bytes; then these contents replace the others and the connection
    /// ends: the server has switched to the next version in mid-download.
    case switchAll(after: Int, to: [String: Content])
}
