import Platform

/// A connection to an upstream for one exchange after another; belongs to its loop's thread.
final class UpstreamLink: StreamHandler {
    var exchange: ProxyExchange?
    var parser = UpstreamHeadParser()
    var input: [UInt8] = []
    var hasAnswered = false
    /// Whether it has served before, so that the upstream may be about to close it.
    private(set) var isUsed = false
    private(set) var idleSince: Int64 = 0
    private(set) var stream: Stream?
    private let address: SocketAddress
    private let pool: UpstreamPool

    init(_ address: SocketAddress, _ pool: UpstreamPool) {
        self.address = address
        self.pool = pool
    }

    func connect(on loop: EventLoop) throws(StoreError) {
        let stream = try loop.connect(to: address, handler: self, secure: pool.upstream.secure)
        stream.readsAfterFailedSend = true
        self.stream = stream
    }

    func rest(since now: Int64, within milliseconds: Int64) {
        exchange = nil
        isUsed = true
        hasAnswered = false
        idleSince = now
        stream?.setDeadline(milliseconds)
        stream?.resumeReading()
    }

    /// Ends the connection without telling its exchange.
    func close() {
        exchange = nil
        stream?.close()
    }

    // MARK: What the stream tells

    func handshakeBegins(_ stream: Stream) {
        stream.setDeadline(pool.options.handshake)
    }

    func connected(_ stream: Stream) {
        pool.upstream.prefer(address)
        exchange?.connected()
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        // Nobody asked for this answer: the next bytes would go to the wrong request.
        guard let exchange else {
            stream.close()
            return
        }
        hasAnswered = true
        exchange.answered(bytes)
    }

    func receivedEnd(on stream: Stream) {
        guard let exchange else {
            stream.close()
            return
        }
        exchange.upstreamEnded(failure: nil)
    }

    func drained(_ stream: Stream) { exchange?.upstreamDrained() }

    func deadlineReached(on stream: Stream) {
        guard let exchange else {
            stream.close()
            return
        }
        exchange.upstreamDeadlineReached()
    }

    func stopping(_ stream: Stream) {
        // The exchange in flight still finishes.
        if exchange == nil { stream.close() }
    }

    func closed(_ stream: Stream, failure: Int32?) {
        self.stream = nil
        guard let exchange else {
            pool.remove(self)
            return
        }
        self.exchange = nil
        if stream.isInHandshake, let problem = stream.channel.session?.failure {
            exchange.handshakeFailed(problem)
        } else {
            exchange.upstreamEnded(failure: failure)
        }
    }
}
