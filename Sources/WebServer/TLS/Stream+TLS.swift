// What a stream does otherwise when its bytes are sealed. Plain ones only ask whether they are.
extension Stream {
    /// Bytes that are gathered for one turn of sealing: four records of the largest size.
    private static let gatheredByteCount = 64 << 10

    /// What a client gets that speaks HTTP without TLS.
    private static let plainRefusal = Array(
        ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: 43\r\nConnection: close\r\n\r\n"
            + "400 this port speaks https only, not http.\n").utf8)

    /// Whether the connection is there, and its handshake under way.
    var isShaking: Bool { isConnecting && (hasBegunShaking || tls?.isClient == false) }

    /// Goes on with the handshake.
    /// - Returns: whether it is done.
    func shake() -> Bool {
        guard let tls else { return true }
        if tls.isClient, !hasBegunShaking {
            hasBegunShaking = true
            handler?.shaking(self)
            guard !isClosed else { return false }
        }
        switch tls.shake() {
        case .done:
            // What came behind the handshake may have been read with it.
            mayRead = true
            return true
        case .blocked: return false
        case .failed:
            if tls.failure?.cause == .plainRequest, !tls.isClient {
                refusePlainRequest()
            } else {
                end(failure: Socket.protocolFailure)
            }
            return false
        }
    }

    private func refusePlainRequest() {
        tls = nil
        isConnecting = false
        send(Self.plainRefusal)
        finish()
    }

    /// Reads and opens what has come.
    func readSealed() {
        var rounds = 0
        while mayRead, !isClosed, !isReadPaused, !hasEnded, !isConnecting, let tls {
            guard rounds < 16 else {
                loop.queueTurn(self)
                return
            }
            rounds += 1
            let buffer = loop.receiveBuffer
            switch tls.receive(buffer) {
            case .bytes(let count):
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if finishing != .no {
                    drop(count)
                } else {
                    handler?.received(
                        bytes.assumingMemoryBound(to: UInt8.self).span, on: self)
                }
            case .blocked:
                mayRead = false
                if let sendFailure { end(failure: sendFailure) }
            case .end:
                mayRead = false
                hasEnded = true
                if finishing == .no { handler?.receivedEnd(on: self) }
            case .failed(let number): end(failure: number)
            }
        }
    }

    /// Seals and sends what is queued, until it is empty, the system would have to wait, or others
    /// should have their turn.
    func flushSealed() {
        guard let tls, !isConnecting else { return }
        var budget = loop.options.turnByteCount
        while !output.isEmpty, !isBlocked, !isClosed {
            guard budget > 0 else {
                loop.queueTurn(self)
                return
            }
            if loop.sealBuffer.isEmpty {
                loop.sealBuffer = [UInt8](repeating: 0, count: Self.gatheredByteCount)
            }
            let gathered = loop.sealBuffer.withUnsafeMutableBytes { output.gather(into: $0) }
            switch gathered {
            case .shortened(let object):
                loop.reportDamage(object.shortened())
                end(failure: nil)
                return
            case .bytes(let count):
                let sent = send(loop.sealBuffer, count, by: tls)
                output.advance(across: sent)
                sentByteCount += Int64(sent)
                budget -= sent
            }
        }
    }

    /// - Returns: how many bytes the system took, sealed.
    private func send(_ bytes: [UInt8], _ count: Int, by tls: TLSSession) -> Int {
        bytes.withUnsafeBytes { bytes in
            var sent = 0
            while sent < count {
                switch tls.send(UnsafeRawBufferPointer(rebasing: bytes[sent..<count])) {
                case .bytes(let count): sent += count
                case .blocked, .end:
                    isBlocked = true
                    return sent
                case .failed(let number):
                    loop.failLater(self, number)
                    isBlocked = true
                    return sent
                }
            }
            return sent
        }
    }

    /// Tells the peer that nothing more comes, so that it can tell an end from a cut.
    /// - Returns: `false` if the system would have to wait; then it is tried again when there is room.
    func saidClosing() -> Bool {
        guard let tls, !tls.sayClosing() else { return true }
        isBlocked = true
        owesDrained = true
        return false
    }

    /// After the last bytes: says the end, and leaves the socket to the plain way of lingering.
    /// - Returns: whether that is done.
    func unsealed() -> Bool {
        guard !isConnecting else {
            close()
            return false
        }
        guard saidClosing() else {
            loop.setDeadline(of: self, loop.now + loop.options.linger)
            return false
        }
        tls = nil
        return true
    }

    /// What is said when the stream ends here.
    ///
    /// Only an asking side may say that it ends in order: what it asked had a
    /// length, while an answer that is cut must look cut.
    func end(_ tls: TLSSession, _ failure: Int32?) {
        if tls.isClient, failure == nil { _ = tls.sayClosing() }
    }
}

extension EventLoop {
    /// Serves an accepted connection by TLS; the handshake begins with the first bytes.
    func seal(_ stream: Stream, _ context: TLSContext?) -> Bool {
        guard let context, let tls = TLSSession(context, stream.socket, peer: nil) else {
            return false
        }
        stream.tls = tls
        stream.isConnecting = true
        return true
    }
}
