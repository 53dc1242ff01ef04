/// Whether a stream waits for its client, which decides whether it gives way when all places are taken.
package enum ClientSilence: Sendable {
    /// Something is under way.
    case no
    /// Its first request has not come.
    case beforeFirst
    /// Since then, no further request or part of a body has come.
    case between(since: Int64)
    /// It was answered then and drops the rest of its request, or may not ask; or it became a WebSocket without a
    /// session.
    case answered(since: Int64)
}

// Which connection gives way when all places are taken. Otherwise anyone who opens connections and sends nothing
// could keep all others out.
extension EventLoop {
    func noteAccepted(_ stream: Stream) {
        _ = longestAwaited()
        awaited.append(stream.token)
    }

    /// Ends a connection that waits for its client; returns whether there was one.
    ///
    /// First the one that has waited longest for its first request; then one that may not ask, or was answered long
    /// ago and still sends its request; then the one that has been silent longest after an answer or within a body.
    /// Each must have waited for a while, because a request takes a moment to come, and one that has come is answered;
    /// the first needs only a moment. If none has waited so long, new connections wait in the system's queue.
    func makeSpace() -> Bool {
        let first = longestAwaited()
        func gives(after timeout: Int64) -> Stream? {
            first.flatMap { self.gives($0, since: $0.beganAt, after: timeout) ? $0 : nil }
        }
        let giving =
            gives(after: options.timeout) ?? longestSilent() ?? gives(after: options.timeout / 4)
        giving?.close()
        return giving != nil
    }

    private func gives(_ stream: Stream, since: Int64, after timeout: Int64) -> Bool {
        now - since >= timeout && !stream.hasUnread
    }

    /// The connection that has waited longest for its first request; drops those before it whose request has come.
    private func longestAwaited() -> Stream? {
        while awaitedStart < awaited.count {
            if let stream = self.stream(awaited[awaitedStart]),
                case .beforeFirst = stream.handler?.silence(of: stream) ?? .no
            {
                return stream
            }
            awaitedStart += 1
            guard awaitedStart >= 1024, awaitedStart * 2 > awaited.count else { continue }
            awaited.removeFirst(awaitedStart)
            awaitedStart = 0
        }
        awaited.removeAll(keepingCapacity: true)
        awaitedStart = 0
        return nil
    }

    private func longestSilent() -> Stream? {
        var longest: (stream: Stream, since: Int64)?
        for case let stream? in streams {
            switch stream.handler?.silence(of: stream) ?? .no {
            case .answered(let since) where now - since >= options.timeout: return stream
            case .between(let since)
            where since < longest?.since ?? .max
                && gives(stream, since: since, after: options.timeout):
                longest = (stream, since)
            default: continue
            }
        }
        return longest?.stream
    }

    /// Counts a connection for its client; returns whether that client may have it.
    func admit(_ stream: Stream) -> Bool {
        guard let limit = options.clientConnections, let peer = stream.peer,
            !options.isUnbound(peer.unmapped)
        else { return true }
        let client = ClientCounts.client(at: peer)
        stream.client = client
        return clients.add(client) <= limit || streamCount * 2 <= options.maximumConnections
    }
}
