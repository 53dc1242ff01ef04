import Expectations

/// What the threads of a ``FaultyOrigin`` share.
final class OriginState: Sendable {
    struct Shared {
        var contents: [String: Content]
        var faults: [String: [Fault]] = [:]
        var lasting: [String: Fault] = [:]
        var actions: [String: @Sendable (OriginRequest) -> Void] = [:]
        var requests: [OriginRequest] = []
        var connectionCount = 0
        var listener: Int32?
        /// What keeps the port until it listens again.
        var held: Int32?
        /// How connections end before they begin.
        var slamming: Fault.Ending?
        var open: Set<Int32> = []
    }

    let shared: Mutex<Shared>

    init(_ contents: [String: Content]) { shared = Mutex(Shared(contents: contents)) }

    deinit { hold(nil) }

    /// Holds a port, or none, in place of the one held before.
    func hold(_ port: UInt16?) {
        let new = port.flatMap(OriginSocket.hold)
        let old = shared.withLock { shared in
            defer { shared.held = new }
            return shared.held
        }
        if let old { OriginSocket.close(old) }
    }

    func accept(on listener: Int32) {
        shared.withLock { $0.listener = listener }
        Thread.detachNewThread {
            while true {
                let raw = OriginSocket.accept(listener)
                if raw < 0 {
                    if errno == EINTR || errno == ECONNABORTED { continue }
                    break
                }
                let number = self.shared.withLock { shared in
                    // Closed between accept and now.
                    guard shared.listener == listener else { return 0 }
                    shared.open.insert(raw)
                    shared.connectionCount += 1
                    return shared.connectionCount
                }
                guard number > 0 else {
                    OriginSocket.close(raw)
                    continue
                }
                if let ending = self.shared.withLock({ $0.slamming }) {
                    self.end(raw, ending)
                    continue
                }
                Thread.detachNewThread { OriginConnection(raw, number, self).serve() }
            }
            OriginSocket.close(listener)
        }
    }

    /// Wakes all threads and breaks off all connections.
    func close() {
        shared.withLock { shared in
            if let listener = shared.listener { OriginSocket.wake(listener) }
            shared.listener = nil
            for raw in shared.open { OriginSocket.wake(raw) }
        }
    }

    /// Ends one connection; its number must not be used by another before it has left the set.
    func end(_ raw: Int32, _ ending: Fault.Ending) {
        shared.withLock { shared in
            shared.open.remove(raw)
            if ending == .reset { OriginSocket.abort(raw) }
            OriginSocket.close(raw)
        }
    }

    /// Records a request; what to do with it.
    func take(_ request: OriginRequest) -> (content: Content?, fault: Fault) {
        let action = shared.withLock { shared in
            shared.requests.append(request)
            return shared.actions[request.path]
        }
        action?(request)
        return shared.withLock { shared in
            (shared.contents[request.path], shared.nextFault(request.path))
        }
    }
}

extension OriginState.Shared {
    /// The path's own faults before those of every path, those of one request before lasting ones.
    fileprivate mutating func nextFault(_ path: String) -> Fault {
        for name in [path, "*"] {
            if faults[name]?.isEmpty == false { return faults[name]?.removeFirst() ?? .none }
            if let fault = lasting[name] { return fault }
        }
        return .none
    }
}
