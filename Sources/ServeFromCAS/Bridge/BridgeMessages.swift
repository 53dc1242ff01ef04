/// The messages that pages send, in the order of their arrival.
struct BridgeMessages: AsyncSequence, Sendable {
    typealias Element = BridgeMessage
    typealias Failure = Never

    let bridge: Bridge

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bridge: bridge) }

    struct AsyncIterator: AsyncIteratorProtocol {
        let bridge: Bridge

        mutating func next() async -> BridgeMessage? { await bridge.nextMessage() }

        mutating func next(isolation actor: isolated (any Actor)?) async -> BridgeMessage? {
            await bridge.nextMessage()
        }
    }
}

extension Bridge {
    /// Waits for the next message; `nil` after `finish` or when the task is cancelled.
    func nextMessage() async -> BridgeMessage? {
        while !Task.isCancelled {
            if let message = takeMessage() { return message }
            let number = locked { state, _ -> UInt64? in
                guard !state.isFinished else { return nil }
                state.lastReader += 1
                return state.lastReader
            }
            guard let number else { return nil }
            await withTaskCancellationHandler {
                await withCheckedContinuation { wait(number, $0) }
            } onCancel: {
                cancel(number)
            }
            locked { state, _ in _ = state.cancelledReaders.remove(number) }
        }
        return nil
    }

    private func wait(_ number: UInt64, _ continuation: CheckedContinuation<Void, Never>) {
        locked { state, after in
            let isCancelled = state.cancelledReaders.contains(number)
            if isCancelled || state.isFinished || state.inboxStart < state.inbox.count {
                after.readers.append(continuation)
            } else {
                state.readers[number] = continuation
            }
        }
    }

    private func cancel(_ number: UInt64) {
        locked { state, after in
            state.cancelledReaders.insert(number)
            if let continuation = state.readers.removeValue(forKey: number) {
                after.readers.append(continuation)
            }
        }
    }
}

/// A message from a page.
public struct BridgeMessage: Sendable, Hashable {
    /// The content of a message.
    public enum Content: Sendable, Hashable {
        /// Text in well-formed UTF-8.
        case text(ArraySlice<UInt8>)
        /// Bytes (an ArrayBuffer in the page).
        case binary(ArraySlice<UInt8>)
    }

    /// The page that sent it.
    public let session: BridgeSessionID
    /// Its content.
    public let content: Content
    /// Whether an expired session or an earlier process may have delivered it before.
    public let mayRepeat: Bool

    /// The text; `nil` for a binary message.
    public var text: String? {
        if case .text(let bytes) = content { String(decoding: bytes, as: UTF8.self) } else { nil }
    }

    /// The payload's bytes.
    public var bytes: ArraySlice<UInt8> {
        switch content {
        case .text(let bytes), .binary(let bytes): bytes
        }
    }
}

/// The start or the end of a page's session.
public enum BridgeSessionChange: Sendable, Hashable {
    /// A page has connected for the first time.
    case opened(BridgeSessionID)
    /// A page is gone; it has not acknowledged this many messages.
    case closed(BridgeSessionID, undelivered: Int)
    /// A page got none: there are as many as may be (``BridgeLimits/sessionCount``), all connected.
    case refused
}
