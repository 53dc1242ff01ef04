public import CASStore
import Synchronization
public import VersionTree

/// An event of ``UpdateManager``.
public enum UpdateEvent: Sendable, Hashable {
    /// The origin is being asked.
    case checking
    /// There is nothing to do, for this reason.
    case upToDate(String)
    /// A release is ignored, for these reasons.
    case refused(version: String, reasons: [String])
    /// A release will be downloaded, at this cost.
    case available(version: String, cost: UpdateCost, isForced: Bool)
    /// The progress of a download; a slow reader gets only the newest events.
    case progress(version: String, UpdateProgress)
    /// A version is complete and waits to be shown.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it, and confirm it with the token.
    case started(BootReport)
    /// A version was confirmed.
    case confirmed(version: String)
    /// A version was replaced by one that is known good.
    case rolledBack(version: String, from: String, reason: String)
    /// Versions were retired, and this much space was freed.
    case tidied(versions: [String], bytes: Int64)
    /// The work in progress was stopped; content that has arrived is kept.
    case cancelled
    /// Something failed; the app continues with its current version.
    case failed(UpdateFailure)
    /// This reader was too slow and missed this many events; the event log has them.
    case missed(count: Int)

    fileprivate var isProgress: Bool {
        if case .progress = self { true } else { false }
    }
}

/// What failed and why.
public struct UpdateFailure: Sendable, Hashable {
    /// What an ``UpdateManager`` does; the raw value is the word of the event log.
    public enum Operation: String, Sendable, CaseIterable {
        /// It adopts the version shipped with the app.
        case adopting = "embedded"
        /// It asks the origin.
        case checking = "check"
        /// It fetches a version.
        case downloading = "download"
        /// It shows another version.
        case switching = "switch"
        /// It goes back to a version that is known good.
        case rollingBack = "rollback"
        /// It retires versions, and collects what nobody needs any more.
        case tidying = "tidy"
    }

    /// What failed.
    public var operation: Operation
    /// The code of the error.
    public var code: StoreError.Code
    /// The message of the error.
    public var message: String

    package init(_ error: StoreError, during operation: Operation) {
        self.operation = operation
        code = error.code
        message = error.message
    }
}

/// What an ``UpdateManager`` is doing.
public enum UpdateState: Sendable, Hashable {
    /// Nothing.
    case idle
    /// It asks the origin.
    case checking
    /// It fetches a version.
    case downloading(version: String)
}

/// The result of a check.
public struct UpdateCheck: Sendable {
    /// The origin's offer; `nil` if it says that nothing has changed.
    public var release: Release?
    package var decision: UpdateDecision
    /// Whether it must be shown at once.
    public var isForced: Bool
}

/// The result of an update.
public enum UpdateOutcome: Sendable, Hashable {
    /// There was nothing to do, for this reason.
    case upToDate(String)
    /// A release was ignored, for these reasons.
    case refused(version: String, reasons: [String])
    /// A version is complete and waits to be shown.
    case ready(version: String, waitsFor: String)
    /// A version starts: the app must show it.
    case started(BootReport)
}

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
