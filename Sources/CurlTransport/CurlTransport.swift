public import CASStore
internal import CCurl
public import HotPush

/// The version of libcurl that carries the requests, for bug reports.
public func curlVersion() -> String { String(cString: curl_version()) }

/// Carries requests with libcurl, many at once on one thread.
///
/// Used by one thread at a time. Connections stay open for a second ``run(_:)``. Nothing is global except libcurl's own
/// start-up. The proxies come from the environment (`http_proxy`, `https_proxy`, `all_proxy`, `no_proxy`), or from
/// ``HotPush/TransportOptions/proxy``.
public final class CurlTransport: Transport {
    /// The longest that libcurl waits for the network before the client is asked again.
    private static let tickMilliseconds: Int64 = 100
    /// The most bytes of one read: large enough for few system calls per megabyte, small enough that 16 of them do not
    /// matter (measured at 500 MB and at 10,000 files).
    private static let chunkByteCountMax = 262_144

    private let options: TransportOptions
    private let limits: TimeLimits
    private let redirects: RedirectPolicy
    private let multi: UnsafeMutableRawPointer
    private let state: RunState
    private var exchanges: [Exchange] = []
    private var free: [Exchange] = []
    /// Holds until another transfer ends, like ``waitsUntil``.
    private var hasNothing = false
    private var waitsUntil: Int64 = 0
    private var isRunning = false

    /// Creates a transport without connections.
    ///
    /// - Throws: `transport` if libcurl cannot start or an option is invalid, `outOfMemory`.
    public init(_ options: TransportOptions = TransportOptions()) throws(StoreError) {
        try options.start()
        guard options.parallelCount >= 1 else {
            throw StoreError(.transport, "unable to download \(options.parallelCount) at once")
        }
        if let value = options.credentials?.authorization, !RequestFields.isFieldValue(value) {
            throw StoreError(.transport, "unable to use credentials that contain a line end")
        }
        guard let multi = curl_multi_init() else { throw EasyHandle.noMemory }
        self.options = options
        self.multi = multi
        limits = TimeLimits(options)
        redirects = RedirectPolicy(countMax: options.redirectCountMax)
        state = RunState(rate: RateLimit(byteRate: options.byteRateMax))
        // One connection per transfer stays open between two requests.
        castree_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, options.parallelCount)
        castree_curl_multi_set_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
    }

    deinit {
        // Handles before the multi handle: libcurl requires this order.
        for exchange in exchanges { curl_multi_remove_handle(multi, exchange.easy.raw) }
        exchanges = []
        free = []
        curl_multi_cleanup(multi)
    }

    /// The rate in the options.
    public var byteRateMax: Int64? { options.byteRateMax }
    /// The number in the options.
    public var parallelCount: Int { options.parallelCount }

    /// The text without the credentials in the options.
    public func concealed(in text: String) -> String {
        options.credentials?.concealed(in: text) ?? text
    }

    /// Carries the client's requests; see ``Transport/run(_:)``.
    ///
    /// - Throws: `outOfMemory` or `transport`; every transfer that had begun has then ended as `cancelled`.
    public func run(_ client: some TransferClient) throws(StoreError) {
        precondition(!isRunning, "a client must not run the transport that calls it")
        isRunning = true
        state.client = client
        (hasNothing, waitsUntil) = (false, 0)
        defer {
            state.client = nil
            isRunning = false
        }
        do throws(StoreError) {
            try loop(client)
        } catch {
            cancelAll(client)
            throw error
        }
    }

    private func loop(_ client: some TransferClient) throws(StoreError) {
        var lastTick = castree_milliseconds()
        while true {
            state.now = castree_milliseconds()
            state.rate.fill(at: state.now)
            try fill(client)
            if hasNothing, free.count == exchanges.count { return }
            resumePaused()
            var running: Int32 = 0
            try check(curl_multi_perform(multi, &running))
            let hasEnded = try finishDone(client)
            let now = castree_milliseconds()
            if now - lastTick >= Self.tickMilliseconds {
                lastTick = now
                // Judged by the time before this turn: while a slow client kept other transfers' bytes waiting, those
                // transfers did not stall.
                endOverdue(client)
                guard client.tick() else {
                    cancelAll(client)
                    return
                }
            }
            // Places are free: ask the client before waiting for anything.
            if hasEnded { continue }
            try check(curl_multi_poll(multi, nil, 0, pollMilliseconds(), nil))
        }
    }

    private func pollMilliseconds() -> Int32 {
        var wait = Self.tickMilliseconds
        if waitsUntil > state.now { wait = min(wait, waitsUntil - state.now) }
        if state.rate.isEmpty { wait = min(wait, max(state.rate.wait, 1)) }
        return Int32(wait)
    }

    // MARK: Beginning

    private func fill(_ client: some TransferClient) throws(StoreError) {
        guard !hasNothing, waitsUntil <= state.now else { return }
        while !free.isEmpty || exchanges.count < options.parallelCount {
            switch client.next() {
            case .nothing:
                hasNothing = true
                return
            case .wait(let milliseconds):
                waitsUntil = state.now + Int64(max(milliseconds, 1))
                return
            case .request(let request):
                let exchange = try freeExchange()
                if let failure = try exchange.begin(request) {
                    end(exchange, .failed(failure), client)
                } else {
                    try check(curl_multi_add_handle(multi, exchange.easy.raw))
                }
            }
        }
    }

    private func freeExchange() throws(StoreError) -> Exchange {
        if let exchange = free.popLast() { return exchange }
        let exchange = try Exchange(
            options,
            chunkByteCount: min(Self.chunkByteCountMax, state.rate.chunkByteCountMax),
            state: state)
        exchanges.append(exchange)
        return exchange
    }

    /// Lets transfers that wait for the rate limit continue, each in its turn.
    private func resumePaused() {
        guard !state.rate.isEmpty else { return }
        for exchange in exchanges where exchange.isPaused {
            exchange.resume()
            if state.rate.isEmpty { break }
        }
        // Next time, another one is first.
        if options.byteRateMax != nil, exchanges.count > 1 {
            exchanges.append(exchanges.removeFirst())
        }
    }

    // MARK: Ending

    /// Ends the transfers that libcurl has finished; returns whether there were any.
    private func finishDone(_ client: some TransferClient) throws(StoreError) -> Bool {
        var hasEnded = false
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle
            else { continue }
            let code = message.pointee.data.result
            var context: UnsafeMutableRawPointer?
            castree_curl_get_pointer(easy, CURLINFO_PRIVATE, &context)
            guard let context else { continue }
            let exchange = Unmanaged<Exchange>.fromOpaque(context).takeUnretainedValue()
            // The message is invalid after this call.
            curl_multi_remove_handle(multi, easy)
            // During an answer, this code means a field too large for libcurl, over 100 KiB.
            if code == CURLE_OUT_OF_MEMORY, !exchange.hasSent {
                end(exchange, .cancelled, client)
                throw EasyHandle.noMemory
            }
            hasEnded = true
            switch exchange.result(code) {
            case .end(let outcome): end(exchange, outcome, client)
            case .follow(let location): try follow(location, exchange, client)
            }
        }
        return hasEnded
    }

    private func follow(
        _ location: String, _ exchange: Exchange, _ client: some TransferClient
    ) throws(StoreError) {
        let target: URLParts
        do throws(TransferFailure) {
            target = try redirects.next(location, after: exchange.visited)
        } catch {
            return end(exchange, .failed(error), client)
        }
        if let failure = try exchange.follow(target.text) {
            end(exchange, .failed(failure), client)
        } else {
            try check(curl_multi_add_handle(multi, exchange.easy.raw))
        }
    }

    private func end(
        _ exchange: Exchange, _ outcome: TransferOutcome, _ client: some TransferClient
    ) {
        exchange.clear()
        free.append(exchange)
        (hasNothing, waitsUntil) = (false, 0)
        var outcome = outcome
        if case .failed(var failure) = outcome {
            failure.message = concealed(in: failure.message)
            outcome = .failed(failure)
        }
        client.end(exchange.request.id, outcome)
    }

    private func endOverdue(_ client: some TransferClient) {
        for exchange in exchanges {
            if case .idle = exchange.phase { continue }
            guard let failure = exchange.overdue(limits) else { continue }
            curl_multi_remove_handle(multi, exchange.easy.raw)
            // Only the head was wanted: the body is discarded.
            if case .discarding = exchange.phase {
                end(exchange, .finished, client)
            } else {
                end(exchange, .failed(failure), client)
            }
        }
    }

    private func cancelAll(_ client: some TransferClient) {
        for exchange in exchanges {
            if case .idle = exchange.phase { continue }
            curl_multi_remove_handle(multi, exchange.easy.raw)
            end(exchange, .cancelled, client)
        }
    }

    private func check(_ code: CURLMcode) throws(StoreError) {
        guard code != CURLM_OK else { return }
        if code == CURLM_OUT_OF_MEMORY { throw EasyHandle.noMemory }
        throw StoreError(
            .transport,
            "unable to continue downloading: " + String(cString: curl_multi_strerror(code)))
    }
}
