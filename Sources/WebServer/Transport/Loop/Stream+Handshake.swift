// How a stream's encryption begins and ends.
extension Stream {
    private static let plainRefusal = Array(
        ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: 43\r\nConnection: close\r\n\r\n"
            + "400 this port speaks https only, not http.\n").utf8)

    /// Encrypts the bytes, if there is a context; the handshake begins with the connection, or on the serving side
    /// with the first bytes.
    /// - Parameter peer: the host that the peer must prove to be; `nil` on the serving side.
    /// - Returns: `false` if there is no memory.
    func encrypt(by context: TLSContext?, peer: String? = nil) -> Bool {
        guard let context else { return true }
        guard let session = TLSSession(context, socket, peer: peer) else { return false }
        channel.session = session
        isConnecting = true
        return true
    }

    var isInHandshake: Bool {
        isConnecting && (hasBegunHandshake || channel.session?.isClient == false)
    }

    func handshake() -> Bool {
        guard let session = channel.session else { return true }
        if session.isClient, !hasBegunHandshake {
            hasBegunHandshake = true
            handler?.handshakeBegins(self)
            guard !isClosed else { return false }
        }
        switch session.handshake() {
        case .done:
            // Bytes that came after the handshake may have been read with it.
            mayRead = true
            return true
        case .blocked: return false
        case .failed:
            if session.failure?.cause == .plainRequest, !session.isClient {
                refusePlainRequest()
            } else {
                end(failure: Socket.protocolFailure)
            }
            return false
        }
    }

    private func refusePlainRequest() {
        channel.session = nil
        isConnecting = false
        send(Self.plainRefusal)
        finish()
    }

    /// Tells the peer that nothing more comes, so that it can distinguish an end from a cut.
    /// - Returns: `false` if the system would have to wait; then it is repeated when there is space.
    func saidClosing() -> Bool {
        guard !channel.sayClosing() else { return true }
        isBlocked = true
        isDrainedPending = true
        return false
    }

    /// After the last bytes: announces the end, and leaves the socket to linger without TLS.
    /// - Returns: whether that is done, or the stream is not encrypted.
    func endEncryption() -> Bool {
        guard channel.session != nil else { return true }
        guard !isConnecting else {
            close()
            return false
        }
        guard saidClosing() else {
            loop.setDeadline(of: self, loop.now + loop.options.linger)
            return false
        }
        channel.session = nil
        return true
    }
}
