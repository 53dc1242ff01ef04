internal import Synchronization

/// The events that one reader has not taken yet.
///
/// Bounded: only the newest progress events are kept; a reader that misses others is told how many.
final class EventMailbox: Sendable {
    static let progressCountMax = 8
    static let countMax = 1024

    private struct State {
        var events: [UpdateEvent] = []
        var missedCount = 0
        var reader: CheckedContinuation<UpdateEvent?, Never>?
        var isClosed = false

        mutating func take() -> UpdateEvent? {
            if missedCount > 0 {
                defer { missedCount = 0 }
                return .missed(count: missedCount)
            }
            return events.isEmpty ? nil : events.removeFirst()
        }
    }

    private let state = Mutex(State())

    func post(_ event: UpdateEvent) {
        let reader = state.withLock { state -> CheckedContinuation<UpdateEvent?, Never>? in
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            if state.isClosed { return nil }
            Self.makeSpace(for: event, &state)
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    private static func makeSpace(for event: UpdateEvent, _ state: inout State) {
        if event.isProgress {
            guard state.events.count(where: \.isProgress) >= progressCountMax else { return }
            if let first = state.events.firstIndex(where: \.isProgress) {
                state.events.remove(at: first)
            }
        } else if state.events.count >= countMax {
            // Drop old progress first.
            let first = state.events.firstIndex(where: \.isProgress) ?? 0
            if !state.events.remove(at: first).isProgress { state.missedCount += 1 }
        }
    }

    /// The next event; `nil` if no more will come.
    func next() async -> UpdateEvent? {
        await withCheckedContinuation { continuation in
            let (event, isOver) = state.withLock { state -> (UpdateEvent?, Bool) in
                if let event = state.take() { return (event, false) }
                // A second reader of one mailbox would wait indefinitely.
                if state.isClosed || state.reader != nil { return (nil, true) }
                state.reader = continuation
                return (nil, false)
            }
            if event != nil || isOver { continuation.resume(returning: event) }
        }
    }

    /// Closes the mailbox; its contents can still be taken.
    func close() {
        let reader = state.withLock { state -> CheckedContinuation<UpdateEvent?, Never>? in
            state.isClosed = true
            defer { state.reader = nil }
            return state.reader
        }
        reader?.resume(returning: nil)
    }
}

extension UpdateEvent {
    fileprivate var isProgress: Bool {
        if case .progress = self { true } else { false }
    }
}

final class EventHub: Sendable {
    private struct Box {
        weak var mailbox: EventMailbox?
    }

    private let boxes = Mutex<[Box]>([])

    /// A stream of everything from now on; it ends with the hub.
    func subscribe() -> AsyncStream<UpdateEvent> {
        let mailbox = EventMailbox()
        boxes.withLock { $0.append(Box(mailbox: mailbox)) }
        return AsyncStream {
            await mailbox.next()
        } onCancel: {
            mailbox.close()
        }
    }

    func post(_ event: UpdateEvent) {
        // Posted under the lock, so that all readers see the same order.
        boxes.withLock { boxes in
            boxes.removeAll { $0.mailbox == nil }
            for box in boxes { box.mailbox?.post(event) }
        }
    }

    deinit {
        boxes.withLock { boxes in
            for box in boxes { box.mailbox?.close() }
        }
    }
}
