extension Stream {
    /// Whether bytes can still be sent; otherwise they are dropped.
    private var takesBytes: Bool { !isEnding && halfClosing == .no && sendFailure == nil }

    /// Sends bytes, and queues what the system does not take.
    package func send(_ bytes: [UInt8]) {
        guard takesBytes else { return }
        if output.isEmpty, isDirect, !isBlocked {
            let sent = bytes.withUnsafeBytes { push($0, more: false) }
            guard sent < bytes.count else { return }
            output.append(.bytes(bytes, from: sent))
            isDrainedPending = true
        } else {
            queue(.bytes(bytes, from: 0))
        }
    }

    /// - Parameter more: more follows at once; the system may wait for it to fill a packet.
    package func send(_ bytes: UnsafeRawBufferPointer, more: Bool) {
        guard takesBytes else { return }
        var sent = 0
        if output.isEmpty, isDirect, !isBlocked { sent = push(bytes, more: more) }
        guard sent < bytes.count, !isClosed else { return }
        queue(.bytes(Array(bytes[sent...]), from: 0), more: more)
    }

    private func queue(_ segment: OutputQueue.Segment, more: Bool = false) {
        let wasPending = isDrainedPending
        output.append(segment)
        isDrainedPending = true
        guard channel.session != nil, !more, !isBlocked, !isConnecting else { return }
        flush()
        // It went out at once, so no one waits for `drained`.
        if output.isEmpty { isDrainedPending = wasPending }
    }

    /// Like `send(_:more:)`, for two ranges of memory with one call.
    func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) {
        guard takesBytes else { return }
        var sent = 0
        if output.isEmpty, isDirect, !isBlocked {
            sent = taken(Socket.send(socket, first, second))
        }
        if sent < first.count {
            send(
                UnsafeRawBufferPointer(rebasing: first[sent...]), more: channel.session != nil)
            send(second, more: false)
        } else if sent < first.count + second.count {
            send(UnsafeRawBufferPointer(rebasing: second[(sent - first.count)...]), more: false)
        }
    }

    /// Sends a range of an object's file; cuts the stream if the file has become shorter.
    package func send(_ object: any ContentFile, _ range: Range<Int64>) {
        guard takesBytes, !range.isEmpty || channel.session != nil else { return }
        var start = range.lowerBound
        // Most often the system takes all of it, and nothing is queued.
        if output.isEmpty, !isBlocked, isDirect {
            let count = min(Int64(loop.options.sliceByteCount), Int64(range.count))
            let sent = Socket.sendFile(socket, object.raw, at: start, count: Int(count))
            if case .bytes(let sent) = sent {
                sentByteCount += Int64(sent)
                start += Int64(sent)
            } else if case .blocked = sent {
                isBlocked = true
            }
        }
        guard start < range.upperBound || channel.session != nil else { return }
        queue(.file(object, range: start..<range.upperBound))
        if !isBlocked, isDirect { flush() }
    }

    private func push(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Int {
        var sent = 0
        while sent < bytes.count, !isBlocked {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            sent += taken(channel.send(rest, more: more))
        }
        return sent
    }

    /// Takes in the result of a system call made within a handler's call.
    /// - Returns: how many bytes the system took; 0 if it would have to wait, or has failed.
    private func taken(_ transfer: Socket.Transfer) -> Int {
        switch transfer {
        case .bytes(let count):
            sentByteCount += Int64(count)
            return count
        case .blocked, .end: break
        case .failed(let number): loop.failLater(self, number)
        }
        isBlocked = true
        return 0
    }

    /// Sends what is queued until the queue is empty, the system would have to wait, or it is the turn of others.
    func flush() {
        var budget = Int64(loop.options.turnByteCount)
        while !output.isEmpty, !isBlocked, !isClosed, !isConnecting {
            guard budget > 0 else {
                loop.queueTurn(self)
                return
            }
            let before = sentByteCount
            if isDirect { sendFirst() } else { sendGathered() }
            budget -= sentByteCount - before
        }
    }

    /// Gives the system the first segment, as much of it as one call takes.
    private func sendFirst() {
        let transfer: Socket.Transfer
        switch output.head {
        case nil: return
        case .bytes(let bytes, let from):
            let more = output.hasMore
            transfer = bytes.withUnsafeBytes {
                Socket.send(socket, UnsafeRawBufferPointer(rebasing: $0[from...]), more: more)
            }
        case .file(let object, let range):
            let count = min(Int64(loop.options.sliceByteCount), Int64(range.count))
            transfer = Socket.sendFile(
                socket, object.raw, at: range.lowerBound, count: Int(count))
            if case .end = transfer {
                cut(object)
                return
            }
        }
        switch transfer {
        case .bytes(let count):
            sentByteCount += Int64(count)
            output.advance(count)
        case .blocked, .end: isBlocked = true
        case .failed(let number): sendFailed(number)
        }
    }

    /// Encrypts and sends the first segments, as many as fill four records of the maximum size.
    private func sendGathered() {
        if loop.gatherBuffer.isEmpty { loop.gatherBuffer = [UInt8](repeating: 0, count: 64 << 10) }
        switch loop.gatherBuffer.withUnsafeMutableBytes({ output.gather(into: $0) }) {
        case .shortened(let object): cut(object)
        case .bytes(let count):
            let sent = loop.gatherBuffer.withUnsafeBytes {
                push(UnsafeRawBufferPointer(rebasing: $0[..<count]), more: false)
            }
            output.advance(across: sent)
        }
    }

    private func cut(_ object: any ContentFile) {
        loop.reportDamage(object.shortened())
        end(failure: nil)
    }

    /// After a flush: tells the handler that there is space, or continues ending.
    func goOnIfSent() {
        guard !isClosed, output.isEmpty else { return }
        if halfClosing == .afterOutput { halfClose() }
        if finishing == .afterOutput {
            finishIfSent()
        } else if isDrainedPending {
            isDrainedPending = false
            handler?.drained(self)
        }
    }
}
