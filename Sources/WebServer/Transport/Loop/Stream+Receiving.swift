extension Stream {
    func take(_ event: Poller.Event) {
        if isConnecting {
            guard finishConnecting(event) else { return }
        }
        if event.isWritable, isBlocked { unblock() }
        if event.isReadable { mayRead = true }
        if event.isClosing {
            mayRead = true
            endIsComing = true
            noticeEnd()
        }
        turn()
    }

    private func finishConnecting(_ event: Poller.Event) -> Bool {
        guard event.isWritable || event.isClosing || isInHandshake else { return false }
        if !isInHandshake {
            let number = Socket.connectResult(socket)
            guard number == 0 else {
                end(failure: number)
                return false
            }
        }
        guard handshake() else { return false }
        isConnecting = false
        handler?.connected(self)
        return !isClosed
    }

    func turn() {
        if !output.isEmpty, !isBlocked, !isConnecting {
            flush()
            goOnIfSent()
        } else if output.isEmpty, isDrainedPending {
            goOnIfSent()
        }
        read()
    }

    /// Tells the handler of an end that comes while nothing is read.
    func noticeEnd() {
        guard isReadPaused, endIsComing, !hasEnded, finishing == .no, !isClosed else { return }
        loop.afterCall { [self] in
            guard isReadPaused, !hasEnded, !isClosed, finishing == .no else { return }
            handler?.endNoticed(on: self)
        }
    }

    private func unblock() {
        isBlocked = false
        // A read may have needed to write (a change of keys).
        if channel.session != nil { mayRead = true }
    }

    private func read() {
        var rounds = 0
        while mayRead, !isClosed, !isReadPaused, !hasEnded, !isConnecting {
            let isPlain = channel.session == nil
            // A record is a quarter of the buffer.
            guard rounds < (isPlain ? 4 : 16) else {
                loop.queueTurn(self)
                return
            }
            rounds += 1
            let buffer = loop.receiveBuffer
            switch channel.receive(buffer) {
            case .bytes(let count):
                // A short read has emptied the socket (epoll(7), question 9); an end that was announced has still to
                // be read.
                if isPlain, count < buffer.count, !endIsComing, sendFailure == nil {
                    mayRead = false
                }
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
                if finishing == .lingering {
                    close()
                } else if finishing == .no {
                    handler?.receivedEnd(on: self)
                }
            case .failed(let number): end(failure: number)
            }
        }
    }

    /// Counts what is dropped while lingering, to limit what is read to save the last answer.
    private func drop(_ count: Int) {
        lingered += count
        if lingered > loop.options.lingerByteCount { close() }
    }
}
