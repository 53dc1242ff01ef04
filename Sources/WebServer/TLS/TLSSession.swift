import CTLS

/// TLS on one connected socket, which the stream owns; belongs to its loop's thread.
final class TLSSession {
    enum Step { case done, blocked, failed }

    private let session: OpaquePointer
    // The context must outlive the session made from it.
    private let context: TLSContext
    let isClient: Bool
    private(set) var isReady = false
    private(set) var failure: TLSFailure?

    /// - Parameter peer: the host that the peer must prove to be, a name or an address; `nil` on the serving side.
    /// - Returns: `nil` if there is no memory.
    init?(_ context: TLSContext, _ socket: Int32, peer: String?) {
        guard let session = SSL_new(context.raw) else { return nil }
        self.session = session
        self.context = context
        isClient = peer != nil
        if let peer {
            let isAddress = SocketAddress(literal: peer, port: 0) != nil
            guard castree_tls_expect(session, peer, isAddress ? 1 : 0) == 1 else { return nil }
            SSL_set_connect_state(session)
        } else {
            SSL_set_accept_state(session)
        }
        guard SSL_set_fd(session, socket) == 1 else { return nil }
    }

    deinit { SSL_free(session) }

    func handshake() -> Step {
        switch castree_tls_handshake(session) {
        case 1...:
            isReady = true
            return .done
        case Int(CASTREE_TLS_BLOCKED): return .blocked
        default:
            failure = TLSFailure(session, isHandshake: true)
            return .failed
        }
    }

    /// Receives and decrypts: `.end` is an orderly end (close_notify), `.failed` another one, perhaps a cut.
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Socket.Transfer {
        transfer(castree_tls_read(session, buffer.baseAddress, buffer.count))
    }

    /// Encrypts and sends up to one record; after `.blocked`, call again with the same bytes.
    func send(_ bytes: UnsafeRawBufferPointer) -> Socket.Transfer {
        transfer(castree_tls_write(session, bytes.baseAddress, bytes.count))
    }

    private func transfer(_ result: Int) -> Socket.Transfer {
        switch result {
        case 1...: return .bytes(result)
        case 0: return .end
        case Int(CASTREE_TLS_BLOCKED): return .blocked
        default:
            failure = failure ?? TLSFailure(session, isHandshake: false)
            return .failed(Socket.protocolFailure)
        }
    }

    /// Announces that nothing more will be sent (close_notify).
    /// - Returns: `false` if the system would have to wait.
    func sayClosing() -> Bool {
        guard isReady, failure == nil else { return true }
        return castree_tls_close(session) == 1
    }
}
