public import CASStore
import StrictJSON
import Synchronization

/// The app's end of the conversation with its pages.
///
/// Every message has a number, is acknowledged, and is sent again after a broken connection. None is lost or
/// delivered twice, and their order is kept (docs/bridge-protocol.md). Thread-safe; no call waits for a page.
public final class Bridge: Sendable {
    struct State: Sendable {
        var sessions: BridgeSessions
        var inbox: [BridgeMessage] = []
        var inboxStart = 0
        var inboxBytes = 0
        var readers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var cancelledReaders: Set<UInt64> = []
        var lastReader: UInt64 = 0
        var isFinished = false
    }

    /// What to call once the lock is released.
    struct Aftermath: Sendable {
        var wakes: [@Sendable () -> Void] = []
        var changes: [BridgeSessionChange] = []
        var readers: [CheckedContinuation<Void, Never>] = []
    }

    /// The limits of this bridge.
    public let limits: BridgeLimits
    let keepsMessages: Bool
    private let onSessionChange: @Sendable (BridgeSessionChange) -> Void
    private let state: Mutex<State>

    /// Makes a bridge without pages.
    ///
    /// The thread that noticed a change calls `onSessionChange`, which must return soon. If nobody reads
    /// ``messages``, set `keepsMessages` to false: messages from pages are then acknowledged and dropped.
    public init(
        limits: BridgeLimits = BridgeLimits(), keepsMessages: Bool = true,
        onSessionChange: @escaping @Sendable (BridgeSessionChange) -> Void = { _ in }
    ) {
        self.limits = limits
        self.keepsMessages = keepsMessages
        self.onSessionChange = onSessionChange
        state = Mutex(State(sessions: BridgeSessions(limits: limits)))
    }

    /// The pages that have a session, connected or not.
    public var sessions: [BridgeSessionID] { state.withLock { Array($0.sessions.all.keys) } }

    /// The messages of all pages, each page's in order.
    ///
    /// Taking a message acknowledges it. With several readers, only one gets it. The sequence ends when `finish` is
    /// called or the reading task is cancelled.
    public var messages: some AsyncSequence<BridgeMessage, Never> & Sendable {
        BridgeMessages(bridge: self)
    }

    // MARK: Sending

    /// Sends text to every page, or to one.
    /// - Returns: the number of pages it goes to; 0 if there are none.
    /// - Throws: `.tooLarge` over the limit; `.queueFull` if a page does not take its messages (then no page gets
    ///   it); `.notFound` if the session has ended.
    @discardableResult
    public func send(
        _ text: String, to session: BridgeSessionID? = nil
    ) throws(StoreError) -> Int {
        try send(.text(Array(text.utf8)[...]), to: session)
    }

    /// Sends bytes to every page, or to one; otherwise like text.
    @discardableResult
    public func send(
        _ bytes: [UInt8], to session: BridgeSessionID? = nil
    ) throws(StoreError) -> Int {
        try send(.binary(bytes[...]), to: session)
    }

    private func send(
        _ content: BridgeContent, to session: BridgeSessionID?
    ) throws(StoreError) -> Int {
        try BridgeQueue.check(content, limits)
        return try locked { (state, after) throws(StoreError) in
            if let session {
                guard state.sessions[session] != nil else {
                    throw StoreError(.notFound, "the page's session has ended")
                }
                try state.enqueue(content, for: session, &after)
                return 1
            }
            try state.makeSpace(for: content.payload.count, &after)
            for id in state.sessions.all.keys { try state.enqueue(content, for: id, &after) }
            return state.sessions.all.count
        }
    }

    /// Sends an event to every page, or to one.
    ///
    /// This never fails: progress that finds no space is dropped, and other events are few.
    public func announce(_ event: BridgeEvent, to session: BridgeSessionID? = nil) {
        let payload = event.payload
        locked { state, after in
            for id in session.map({ [$0] }) ?? Array(state.sessions.all.keys) {
                state.sessions[id]?.queue.enqueueEvent(
                    event.name, payload, replaces: event.replaces)
                state.wake(id, &after)
            }
        }
    }

    /// Gives a page the server's token, as a query, which the script stores without telling any listener.
    func give(token: String, to session: BridgeSessionID) {
        let payload = JSONWriter.document { $0.member("token", token) }
        locked { state, after in
            state.sessions[session]?.queue.enqueueEvent("token", payload, replaces: false)
            state.wake(session, &after)
        }
    }

    // MARK: Receiving

    /// The next message, if there is one; for callers that do not wait.
    public func takeMessage() -> BridgeMessage? {
        locked { state, after in state.takeMessage(&after) }
    }

    /// Ends `messages` once the messages already here have been taken.
    public func finish() {
        locked { state, after in
            state.isFinished = true
            state.wakeReaders(&after)
        }
    }

    func wakeAll() {
        locked { state, after in
            for id in Array(state.sessions.all.keys) { state.wake(id, &after) }
        }
    }

    // MARK: Beneath

    /// Calls `body` with exclusive access to the state, then the calls that `body` left behind, even if it throws.
    func locked<R: Sendable, E: Error>(
        _ body: (inout State, inout Aftermath) throws(E) -> R
    ) throws(E) -> R {
        let (result, after) = state.withLock { state in
            var after = Aftermath()
            let result = Result { () throws(E) in try body(&state, &after) }
            return (result, after)
        }
        for wake in after.wakes { wake() }
        for change in after.changes { onSessionChange(change) }
        for reader in after.readers { reader.resume() }
        return try result.get()
    }
}

extension Bridge.State {
    mutating func enqueue(
        _ content: BridgeContent, for id: BridgeSessionID, _ after: inout Bridge.Aftermath
    ) throws(StoreError) {
        guard var session = sessions[id] else { return }
        try session.queue.enqueue(content)
        sessions[id] = session
        wake(id, &after)
    }

    /// Checks that a message for all pages fits every queue; drops disconnected pages with a full one.
    mutating func makeSpace(
        for byteCount: Int, _ after: inout Bridge.Aftermath
    ) throws(StoreError) {
        for (id, session) in sessions.all where !session.queue.hasSpace(for: byteCount) {
            guard session.wake == nil else {
                throw StoreError(.queueFull, "a page does not take its messages; try again later")
            }
            after.changes += sessions.end(id)
        }
    }

    mutating func wake(_ id: BridgeSessionID, _ after: inout Bridge.Aftermath) {
        guard let session = sessions[id], let wake = session.wake, !session.isWoken else { return }
        sessions[id]?.isWoken = true
        after.wakes.append(wake)
    }

    mutating func wakeReaders(_ after: inout Bridge.Aftermath) {
        after.readers += readers.values
        readers.removeAll()
    }

    mutating func takeMessage(_ after: inout Bridge.Aftermath) -> BridgeMessage? {
        guard inboxStart < inbox.count else { return nil }
        let message = inbox[inboxStart]
        inboxStart += 1
        if inboxStart == inbox.count {
            inbox.removeAll(keepingCapacity: true)
            inboxStart = 0
        } else if inboxStart >= 1024 {
            inbox.removeFirst(inboxStart)
            inboxStart = 0
        }
        inboxBytes -= message.bytes.count + BridgeLimits.messageOverhead
        let isDue = sessions[message.session]?.queue.take(byteCount: message.bytes.count)
        if isDue == true { wake(message.session, &after) }
        return message
    }
}
