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

/// Why TLS was not set up, or broke off.
struct TLSFailure: Sendable, Equatable {
    enum Cause: Sendable, Equatable {
        /// The peer's certificate was refused, for a reason of X509_verify_cert_error_string(3).
        case certificate(Int32)
        case noTLS
        case plainRequest
        case version
        /// The connection ended without an orderly end.
        case cut
        case other(String)
    }

    let cause: Cause

    /// Reads the reason from the session and this thread's errors, right after the call.
    init(_ session: OpaquePointer, isHandshake: Bool) {
        let verified = SSL_get_verify_result(session)
        if isHandshake, SSL_is_server(session) == 0, verified != X509_V_OK {
            cause = .certificate(Int32(clamping: verified))
            return
        }
        switch castree_tls_reason() {
        case 0, SSL_R_UNEXPECTED_EOF_WHILE_READING: cause = .cut
        case SSL_R_HTTP_REQUEST: cause = .plainRequest
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_PACKET_LENGTH_TOO_LONG: cause = .noTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: cause = .version
        default: cause = .other(String(cString: castree_tls_reason_text()))
        }
    }

    /// What is wrong with a server, as a sentence.
    /// - Parameters:
    ///   - origin: what to call the server.
    ///   - host: the host that its certificate had to name.
    func sentence(_ origin: String, host: String) -> String {
        switch cause {
        case .certificate(let number): Self.sentence(number, origin, host)
        case .noTLS, .plainRequest:
            "The server \(origin) does not speak TLS on that port; is it http, not https?"
        case .version:
            "The server \(origin) speaks no version of TLS that is accepted here; the oldest is 1.2."
        case .cut: "The server \(origin) closed the connection during the TLS handshake."
        case .other(let reason): "The TLS handshake with the server \(origin) failed: \(reason)."
        }
    }

    private static func sentence(_ number: Int32, _ origin: String, _ host: String) -> String {
        switch number {
        case X509_V_ERR_CERT_HAS_EXPIRED:
            "The certificate of the server \(origin) has expired."
        case X509_V_ERR_CERT_NOT_YET_VALID:
            "The certificate of the server \(origin) is not valid yet; are the clocks right?"
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
            "The certificate of the server \(origin) is for another host; it does not name "
                + "\(host)."
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
            "The certificate of the server \(origin) is self-signed; if it is to be trusted, "
                + "name its file with --proxy-ca."
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            "The certificate of the server \(origin) is signed by nobody that this machine trusts; "
                + "if it is to be trusted, name its authority's file with --proxy-ca."
        default:
            "The certificate of the server \(origin) is refused: "
                + "\(String(cString: X509_verify_cert_error_string(Int(number))))."
        }
    }
}
