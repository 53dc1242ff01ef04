import Platform

extension EventLoop {
    /// Serves on this thread until the last stream after ``stop(within:)`` has ended; call it once.
    package func run() {
        Socket.blockBrokenPipeSignal()
        takeThread()
        while !isStopping || streamCount > 0 {
            let count = poller.wait(milliseconds: timeout())
            look()
            // Read what has come before a new connection replaces one that seems to be silent.
            for isListener in [false, true] {
                for index in 0..<count where Self.isListener(poller[index]) == isListener {
                    handle(poller[index])
                }
            }
            workThroughSubmitted()
            takeTurns()
            expire()
            doPostponed()
        }
        endSubmitting()
        for work in takeSubmitted() { work(self) }
        // Break a cycle: the holder of an unanswered request holds the loop, whose acceptors and attachments may hold
        // that holder.
        acceptors = []
        attachments = [:]
    }

    /// Does the submitted work, and a few rounds of what that work submits.
    private func workThroughSubmitted() {
        for _ in 0..<4 {
            let work = takeSubmitted()
            hasOwnWork = false
            for each in work { each(self) }
            if !hasOwnWork { return }
        }
    }

    private func timeout() -> Int32 {
        guard turns.isEmpty, failures.isEmpty, !hasOwnWork else { return 0 }
        let next = min(deadlines.next, min(acceptsAgainAt, stopDeadline))
        guard next != DeadlineQueue.never else { return -1 }
        return Int32(clamping: max(0, next - SystemClock.milliseconds))
    }

    private func look() {
        now = SystemClock.milliseconds
        let second = SystemClock.seconds
        guard second != dateSecond else { return }
        dateSecond = second
        dateField.removeAll(keepingCapacity: true)
        dateField.append(contentsOf: "Date: ".utf8)
        HTTPDate(seconds: second).append(to: &dateField)
        dateField.append(contentsOf: [13, 10])
    }

    func handle(_ event: Poller.Event) {
        if event.token == Poller.wakeToken {
            poller.clearWake()
            return
        }
        let slot = Int(truncatingIfNeeded: event.token & 0xFFFF_FFFF)
        let generation = UInt32(truncatingIfNeeded: event.token >> 32)
        if Self.isListener(event) {
            accept(slot)
            return
        }
        guard slot < streams.count, generations[slot] == generation, let stream = streams[slot]
        else { return }
        stream.take(event)
    }

    /// Does the work that was postponed until no handler is running.
    func doPostponed() {
        while !afterCalls.isEmpty {
            let work = afterCalls
            afterCalls.removeAll(keepingCapacity: true)
            for each in work { each() }
        }
        while let (stream, number) = failures.popLast() { stream.sendFailed(number) }
    }

    func takeTurns() {
        guard !turns.isEmpty else { return }
        let current = turns
        turns.removeAll(keepingCapacity: true)
        for stream in current {
            stream.isQueuedForTurn = false
            if !stream.isClosed { stream.turn() }
        }
    }

    func expire() {
        while let slot = deadlines.popExpired(now: now) { streams[slot]?.deadlineReached() }
        if acceptsAgainAt <= now {
            acceptsAgainAt = DeadlineQueue.never
            isFull = false
            acceptAgainIfPossible()
        }
        if stopDeadline <= now {
            stopDeadline = DeadlineQueue.never
            for stream in streams { stream?.close() }
        }
    }

    // MARK: Accepting

    /// No stream has this generation long enough to be confused with a listener.
    static let listenerGeneration = UInt32.max

    /// Accepts connections of `listener`, which the loop does not own; `begin` gives each one a handler.
    func accept(
        from listener: Int32, tls: TLSContext? = nil, begin: @escaping (Stream) -> Void
    ) -> Bool {
        acceptors.append(Acceptor(listener: listener, tls: tls, begin: begin))
        return poller.add(listener: listener, token: Self.token(acceptors.count - 1))
    }

    private static func isListener(_ event: Poller.Event) -> Bool {
        event.token != Poller.wakeToken && event.token >> 32 == listenerGeneration
    }

    private static func token(_ acceptor: Int) -> UInt64 {
        UInt64(listenerGeneration) << 32 | UInt64(acceptor)
    }

    private func accept(_ index: Int) {
        guard isAccepting, index < acceptors.count else { return }
        // A few at a time, so that other loops get some.
        for number in 0..<16 {
            if streamCount >= options.maximumConnections, number > 0 { return }
            // Only the first one certainly exists; nothing may be closed for the others.
            guard streamCount < options.maximumConnections || makeSpace() else {
                pauseAccepting()
                // Until a connection ends, or waits and gives way.
                isFull = true
                acceptsAgainAt = now + 100
                return
            }
            switch Socket.accept(acceptors[index].listener) {
            case nil: return
            case .success(let socket):
                guard let stream = adopt(socket) else { continue }
                guard admit(stream), stream.encrypt(by: acceptors[index].tls) else {
                    stream.close()
                    continue
                }
                acceptors[index].begin(stream)
                noteAccepted(stream)
            case .failure(let failure):
                if failure.isOutOfFiles, makeSpace() { continue }
                // Too many open files, or no memory: waiting connections keep waiting.
                pauseAccepting()
                acceptsAgainAt = now + 100
                return
            }
        }
    }

    private func pauseAccepting() {
        guard isAccepting else { return }
        isAccepting = false
        for acceptor in acceptors { poller.remove(acceptor.listener) }
    }

    func acceptAgainIfPossible() {
        guard !isAccepting, !isStopping, acceptsAgainAt == DeadlineQueue.never else { return }
        isAccepting = true
        for (index, acceptor) in acceptors.enumerated() {
            _ = poller.add(listener: acceptor.listener, token: Self.token(index))
        }
    }

    /// Stops accepting, lets each stream finish, and ends those that are left after `milliseconds`.
    package func stop(within milliseconds: Int64) {
        guard !isStopping else { return }
        pauseAccepting()
        isStopping = true
        stopDeadline = now + milliseconds
        for stream in streams {
            guard let stream, !stream.isEnding else { continue }
            stream.handler?.stopping(stream)
        }
    }
}
