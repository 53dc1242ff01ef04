internal import CASStore
internal import CCurl
internal import HotPush

final class RunState {
    var client: (any TransferClient)?
    var rate: RateLimit
    /// Milliseconds, read once in each turn of the loop.
    var now: Int64 = 0

    init(rate: RateLimit) { self.rate = rate }
}

/// A place for one transfer at a time, and the transfer that occupies it.
///
/// A transfer is one request or, with redirects, several in a row. libcurl calls in during the loop; the result is read
/// when libcurl has finished.
final class Exchange {
    enum Phase {
        case idle
        case asking
        /// The body of a redirect is read so that the connection can be reused.
        case redirecting(to: String)
        /// An unwanted body is read so that the connection can be reused.
        case discarding
        case taking
    }

    /// The most to read to keep a connection: beyond that, opening another is cheaper.
    static let discardByteCountMax = 65_536

    let easy: EasyHandle
    private let state: RunState
    private let credentials: ConfinedCredentials?
    private(set) var phase = Phase.idle
    private(set) var request = TransferRequest(id: 0, url: "")
    /// Ends with the current request's URL.
    private(set) var visited: [String] = []
    private var reader = HeadReader()
    private var bodyByteCount: Int64 = 0
    private(set) var isPaused = false
    /// This side's decision, which replaces the error that libcurl then reports.
    private var verdict: TransferOutcome?
    private var lines: LineList?

    /// Includes redirects.
    private var begunAt: Int64 = 0
    /// When libcurl got the current request.
    private var askedAt: Int64 = 0
    /// When the whole final head, or bytes for the client, last came.
    private var lastActivity: Int64 = 0

    init(_ options: TransportOptions, chunkByteCount: Int, state: RunState) throws(StoreError) {
        self.state = state
        credentials = ConfinedCredentials(options.credentials)
        easy = try EasyHandle()
        try easy.setUp(
            options, chunkByteCount: chunkByteCount,
            context: Unmanaged.passUnretained(self).toOpaque(),
            onHeader: { bytes, size, count, context in
                guard let context else { return 0 }
                let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                let line = UnsafeRawBufferPointer(start: bytes, count: size * count)
                return exchange.takeLine(line) ? size * count : 0
            },
            onBody: { bytes, size, count, context in
                guard let context else { return 0 }
                let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
                return exchange.takeBytes(UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
    }

    // MARK: Beginning

    /// Prepares the handle for a request; returns why the request cannot be made, or nil.
    func begin(_ request: TransferRequest) throws(StoreError) -> TransferFailure? {
        self.request = request
        begunAt = state.now
        visited.removeAll(keepingCapacity: true)
        return try ask(request.url, isForeign: false)
    }

    /// Prepares the handle for the next URL after a redirect.
    func follow(_ url: String) throws(StoreError) -> TransferFailure? {
        let (first, next) = (URLParts(request.url), URLParts(url))
        var isForeign = true
        if let first, let next { isForeign = !next.hasOrigin(of: first) }
        return try ask(url, isForeign: isForeign)
    }

    private func ask(_ url: String, isForeign: Bool) throws(StoreError) -> TransferFailure? {
        visited.append(url)
        (phase, verdict, bodyByteCount, isPaused) = (.asking, nil, 0, false)
        reader.reset()
        easy.clearError()
        askedAt = state.now
        lastActivity = state.now
        guard RequestFields.isFieldValue(url) else {
            return TransferFailure(
                .request, FailureKinds.sentence("the URL holds control characters", url: url))
        }
        try easy.set(CURLOPT_URL, url)
        // With TLS, a second transfer waits to see whether it can share the first one's connection.
        try easy.set(CURLOPT_PIPEWAIT, url.hasPrefix("https:") ? 1 : 0)
        // Empty: all encodings that the library knows; nil: the bytes as they are.
        try easy.set(CURLOPT_ACCEPT_ENCODING, request.acceptsEncodings ? "" : nil as String?)
        let authorization = try authorize(url, isForeign: isForeign)
        guard var texts = RequestFields.lines(of: request, isForeign: isForeign) else {
            return TransferFailure(
                .request,
                FailureKinds.sentence("a header field of the request is invalid", url: url))
        }
        if let authorization { texts.append(authorization) }
        guard let list = LineList(texts) else { throw EasyHandle.noMemory }
        // The old list must live until the handle has the new one.
        try easy.set(CURLOPT_HTTPHEADER, UnsafeMutableRawPointer(list.first))
        lines = consume list
        return nil
    }

    /// Lets libcurl find a user for the origin, or returns the field with its credentials; for other servers neither.
    private func authorize(_ url: String, isForeign: Bool) throws(StoreError) -> String? {
        guard let credentials else { return nil }
        let isOwn = credentials.isFor(url, isForeign: isForeign)
        if credentials.netrcFile != nil {
            // Optional: the user in the URL takes precedence.
            let use = isOwn ? CURL_NETRC_OPTIONAL : CURL_NETRC_IGNORED
            try easy.set(CURLOPT_NETRC, Int(use.rawValue))
        }
        return isOwn ? credentials.field(for: url) : nil
    }

    // MARK: Called by libcurl

    private func takeLine(_ line: UnsafeRawBufferPointer) -> Bool {
        guard case .asking = phase else { return takeTrailer(line) }
        switch reader.read(line) {
        case .more:
            return true
        case .malformed(let text):
            return end(.failed(failure(.malformed, text)))
        case .whole(let status, let fields):
            // Only now: interim responses, or a head line by line, do not keep a transfer alive.
            lastActivity = state.now
            var head = TransferHead(status: status, fields: fields, url: visited.last ?? "")
            head.isUnframed = isUnframed(head)
            return takeHead(head)
        }
    }

    /// A field after a chunked body is not progress.
    private func takeTrailer(_ line: UnsafeRawBufferPointer) -> Bool {
        guard case .malformed(let text) = reader.readTrailer(line) else { return true }
        // If only the head was wanted, what follows does not matter.
        guard case .taking = phase else { return false }
        return end(.failed(failure(.malformed, text)))
    }

    private func takeHead(_ head: TransferHead) -> Bool {
        if request.followsRedirects, RedirectPolicy.isRedirect(head.status),
            let location = head["location"]
        {
            phase = .redirecting(to: location)
            return true
        }
        let coding = request.acceptsEncodings ? nil : unaskedCoding(head)
        if let coding, 200..<300 ~= head.status { return end(unasked(coding)) }
        guard let client = state.client else { return end(.cancelled) }
        switch client.begin(request.id, head) {
        case .refuse:
            return end(.refused)
        case .discard:
            phase = .discarding
            return true
        case .take:
            if let coding { return end(unasked(coding)) }
            if !request.acceptsEncodings, let length = head["content-length"].flatMap(Int64.init),
                length > request.byteCountMax
            {
                return end(.tooLarge)
            }
            phase = .taking
            return true
        }
    }

    /// Whether HTTP/1 announces neither the body's length nor, in chunks, its end.
    private func isUnframed(_ head: TransferHead) -> Bool {
        guard reader.isHTTP1, head["content-length"] == nil else { return false }
        let last = head.fields.last { $0.name == "transfer-encoding" }?.value
            .split(separator: ",").last?.trimmingPrefix { $0 == " " }
        return last?.lowercased() != "chunked"
    }

    private func unaskedCoding(_ head: TransferHead) -> String? {
        guard let coding = head["content-encoding"], !coding.isEmpty,
            coding.lowercased() != "identity"
        else { return nil }
        return coding
    }

    private func unasked(_ coding: String) -> TransferOutcome {
        .failed(
            failure(
                .malformed,
                "the server, or a proxy before it, sent the content encoded as "
                    + "\"\(printable(coding))\" although it was asked not to encode it"))
    }

    private func takeBytes(_ bytes: UnsafeRawBufferPointer) -> Int {
        switch phase {
        case .idle, .asking:
            return stop(.failed(failure(.malformed, "a body came before its head")))
        case .redirecting, .discarding:
            // Unwanted bytes are not progress.
            bodyByteCount += Int64(bytes.count)
            state.rate.take(bytes.count)
            return bodyByteCount <= Self.discardByteCountMax ? bytes.count : Self.stopCode
        case .taking:
            if state.rate.isEmpty {
                isPaused = true
                return castree_curl_pause_code()
            }
            lastActivity = state.now
            guard Int64(bytes.count) <= request.byteCountMax - bodyByteCount else {
                return stop(.tooLarge)
            }
            bodyByteCount += Int64(bytes.count)
            state.rate.take(bytes.count)
            guard let client = state.client else { return stop(.cancelled) }
            return client.receive(request.id, bytes) ? bytes.count : stop(.refused)
        }
    }

    /// Unpauses the transfer; libcurl calls ``takeBytes(_:)`` from within.
    func resume() {
        isPaused = false
        lastActivity = state.now
        curl_easy_pause(easy.raw, CURLPAUSE_CONT)
    }

    /// Records the outcome and returns `false`, which makes libcurl stop.
    private func end(_ outcome: TransferOutcome) -> Bool {
        verdict = outcome
        return false
    }

    /// libcurl stops on any count other than that of the bytes; the largest is never theirs.
    private static let stopCode = -1

    /// Records the outcome and returns the count that makes libcurl stop.
    private func stop(_ outcome: TransferOutcome) -> Int {
        verdict = outcome
        return Self.stopCode
    }

    // MARK: Ending

    func overdue(_ limits: TimeLimits) -> TransferFailure? {
        if let total = limits.total, state.now - begunAt > total {
            return failure(.timeout, "the transfer took longer than \(limits.seconds(total)) s")
        }
        guard !isPaused, state.now - lastActivity > limits.stall else { return nil }
        // Connecting has its own limit, which libcurl enforces.
        let connected = easy.connectedAfter
        guard connected > 0, state.now - (askedAt + connected) > limits.stall else { return nil }
        return failure(.timeout, "nothing came for \(limits.seconds(limits.stall)) s")
    }

    enum Next {
        case end(TransferOutcome)
        case follow(String)
    }

    func result(_ code: CURLcode) -> Next {
        if let verdict { return .end(verdict) }
        switch phase {
        case .redirecting(let location): return .follow(location)
        // The head, which was all that was wanted, has come.
        case .discarding: return .end(.finished)
        case .idle, .asking, .taking: break
        }
        if code == CURLE_OK {
            if case .taking = phase { return .end(.finished) }
            return .end(.failed(failure(.malformed, "the server sent no response")))
        }
        return .end(
            .failed(
                FailureKinds.failure(
                    of: code, hasSent: hasSent, message: easy.error,
                    url: visited.last ?? request.url)))
    }

    var hasSent: Bool { easy.connectedAfter > 0 }

    func clear() {
        phase = .idle
        isPaused = false
    }

    private func failure(_ kind: TransferFailure.Kind, _ text: String) -> TransferFailure {
        TransferFailure(kind, FailureKinds.sentence(text, url: visited.last ?? request.url))
    }
}

struct TimeLimits {
    let stall: Int64
    let total: Int64?

    init(_ options: TransportOptions) {
        stall = max(options.stallTimeout.milliseconds, 1)
        total = options.totalTimeout.map { max($0.milliseconds, 1) }
    }

    func seconds(_ milliseconds: Int64) -> String {
        milliseconds % 1000 == 0 ? "\(milliseconds / 1000)" : "\(Double(milliseconds) / 1000)"
    }
}
