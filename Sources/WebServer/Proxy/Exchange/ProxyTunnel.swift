/// Two streams that pass their bytes to each other unread: an exchange becomes one after a 101.
///
/// Either side may stop sending while the other continues (a half-close). The tunnel lives as long as its streams,
/// and belongs to their loop's thread.
final class ProxyTunnel {
    private let options: ProxyOptions
    private let upstream = TunnelEnd()
    private let client = TunnelEnd()

    init(_ upstream: Stream, _ options: ProxyOptions) {
        self.options = options
        self.upstream.stream = upstream
        self.upstream.tunnel = self
        client.tunnel = self
    }

    func take(client stream: Stream) -> any StreamHandler {
        client.stream = stream
        return client
    }

    /// Passes on what came after the upstream's head, and everything that follows.
    func begin(_ first: Span<UInt8>) {
        guard let stream = upstream.stream, client.stream?.isEnding == false else {
            upstream.stream?.close()
            return
        }
        stream.handler = upstream
        touch()
        if !first.isEmpty { pass(first, from: upstream) }
    }

    private func other(_ end: TunnelEnd) -> TunnelEnd { end === client ? upstream : client }

    fileprivate func pass(_ bytes: Span<UInt8>, from end: TunnelEnd) {
        touch()
        guard let target = other(end).stream else { return }
        bytes.withUnsafeBytes { target.send($0, more: false) }
        if target.queuedByteCount > options.outputLimit { end.stream?.pauseReading() }
    }

    fileprivate func drained(_ end: TunnelEnd) {
        touch()
        other(end).stream?.resumeReading()
    }

    fileprivate func ended(_ end: TunnelEnd) {
        end.hasEnded = true
        let other = other(end)
        if other.hasEnded {
            finish()
        } else {
            other.stream?.finishSending()
        }
    }

    fileprivate func closed(_ end: TunnelEnd) {
        end.stream = nil
        end.tunnel = nil
        // Everything it sent before is still passed on.
        other(end).stream?.finish()
    }

    fileprivate func finish() {
        client.stream?.finish()
        upstream.stream?.finish()
    }

    private func touch() {
        client.stream?.setDeadline(options.tunnelIdle)
        upstream.stream?.setDeadline(options.tunnelIdle)
    }
}

final class TunnelEnd: StreamHandler {
    fileprivate var stream: Stream?
    fileprivate var tunnel: ProxyTunnel?
    fileprivate var hasEnded = false

    func received(_ bytes: Span<UInt8>, on stream: Stream) { tunnel?.pass(bytes, from: self) }
    func receivedEnd(on stream: Stream) { tunnel?.ended(self) }
    func drained(_ stream: Stream) { tunnel?.drained(self) }
    func deadlineReached(on stream: Stream) { tunnel?.finish() }
    func stopping(_ stream: Stream) { tunnel?.finish() }
    func closed(_ stream: Stream, failure: Int32?) { tunnel?.closed(self) }
}
