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
