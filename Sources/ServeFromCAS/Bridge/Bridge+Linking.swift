// The parts of a bridge that every transport uses: greeting, sending frames, taking frames.
extension Bridge {
    enum Acceptance: Sendable {
        case taken
        case ended
        case unknown
    }

    enum Outgoing: Sendable {
        /// In order, and when to look again even if `wake` is not called.
        case frames([BridgeFrame], lookAgain: Duration?)
        /// A newer link has taken over.
        case replaced
        case ended
    }

    func greet(
        _ session: BridgeSessionID?, received: UInt64, wake: (@Sendable () -> Void)?, now: Duration
    ) throws(BridgeViolation) -> BridgeSessions.Greeting {
        try locked { (state, after) throws(BridgeViolation) in
            let greeting = try state.sessions.greet(
                session, received: received, wake: wake, now: now, &after.changes)
            if let replaced = greeting.replaced { after.wakes.append(replaced) }
            return greeting
        }
    }

    func accept(
        _ frame: BridgeFrame, from id: BridgeSessionID, now: Duration
    ) throws(BridgeViolation) -> Acceptance {
        try locked { (state, after) throws(BridgeViolation) in
            guard state.sessions[id] != nil else { return .unknown }
            switch frame {
            case .acknowledgement(let number):
                try state.sessions[id]?.queue.acknowledge(number)
                // The window may have opened.
                if state.sessions[id]?.queue.canSend == true { state.wake(id, &after) }
            case .probe:
                state.sessions[id]?.queue.probe(now: now)
                state.wake(id, &after)
            case .end:
                after.changes += state.sessions.end(id)
                return .ended
            case .numbered(let sequence, let acknowledged, let content, let mayRepeat):
                let cost = content.payload.count + BridgeLimits.messageOverhead
                guard !keepsMessages || state.inboxBytes + cost <= limits.inboxByteCount else {
                    throw BridgeViolation(.tryAgainLater, "the app does not take its messages")
                }
                let new = try state.sessions[id]?.queue.accept(
                    sequence, acknowledged: acknowledged, content, now: now)
                if state.sessions[id]?.queue.canSend == true { state.wake(id, &after) }
                guard let new else { break }
                guard keepsMessages else {
                    // No reader will take it, so it counts as taken.
                    let isDue = state.sessions[id]?.queue.take(byteCount: new.payload.count)
                    if isDue == true { state.wake(id, &after) }
                    break
                }
                guard let message = BridgeMessage(id, new, mayRepeat) else { break }
                state.inbox.append(message)
                state.inboxBytes += cost
                state.wakeReaders(&after)
            case .hello, .welcome:
                throw BridgeViolation(.protocolError, "a greeting in mid-conversation")
            }
            return .taken
        }
    }

    /// Takes what may be sent to a page on the link with this ticket, about `space` bytes at most.
    func takeFrames(
        for id: BridgeSessionID, ticket: UInt64, space: Int, now: Duration
    ) -> Outgoing {
        locked { state, _ in
            guard let session = state.sessions[id] else { return .ended }
            guard session.ticket == ticket else { return .replaced }
            state.sessions[id]?.isWoken = false
            var frames: [BridgeFrame] = []
            var byteCount = 0
            while byteCount < space {
                guard let frame = state.sessions[id]?.queue.nextFrame(now: now) else { break }
                byteCount += frame.payload.count + 32
                frames.append(frame)
            }
            return .frames(
                frames, lookAgain: state.sessions[id]?.queue.acknowledgementDue)
        }
    }

    func unlink(_ id: BridgeSessionID, ticket: UInt64, now: Duration) {
        locked { state, _ in state.sessions.unlink(id, ticket: ticket, now: now) }
    }

    func absent(for time: Duration, now: Duration) -> Set<String> {
        let all = locked { state, _ in state.sessions.all }
        let absent = all.filter { $0.value.unlinkedSince.map { $0 + time <= now } ?? false }
        return Set(absent.keys.map(\.description))
    }

    package var nextDeadline: Duration? { locked { state, _ in state.sessions.nextExpiry } }

    package func advance(to now: Duration) {
        locked { state, after in after.changes += state.sessions.expire(now: now) }
    }
}

extension BridgeMessage {
    /// `nil` for an event, which only a server sends.
    init?(_ session: BridgeSessionID, _ content: BridgeContent, _ mayRepeat: Bool) {
        switch content {
        // Copies, because a slice would keep the whole batch alive, perhaps megabytes.
        case .text(let payload): self.content = .text(Array(payload)[...])
        case .binary(let payload): self.content = .binary(Array(payload)[...])
        case .event: return nil
        }
        self.session = session
        self.mayRepeat = mayRepeat
    }
}
