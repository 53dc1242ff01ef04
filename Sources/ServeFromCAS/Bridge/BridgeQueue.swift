public import CASStore

/// One end of a session: its queue for the other side, and what the other side has sent.
///
/// A value without I/O, the same at both ends; the rules are docs/bridge-protocol.md.
struct BridgeQueue: Sendable {
    private let limits: BridgeLimits

    private(set) var received: UInt64 = 0
    /// The last number that the application has taken, as acknowledgements state it.
    private(set) var taken: UInt64 = 0
    private var untakenBytes = 0
    private var told: UInt64 = 0
    /// When to check whether an acknowledgement must be sent; `nil` if none is due.
    private(set) var acknowledgementDue: Duration?
    /// Send it even if it is not new: the other side did not get it, or asks for it.
    private var mustTell = false
    /// The application was slow: acknowledge the next message it takes at once.
    private var isLate = false

    /// The last number that the other side has taken.
    private(set) var acknowledged: UInt64 = 0
    /// The messages after that one, in order.
    private(set) var unacknowledged: [BridgeContent] = []
    private var queuedBytes = 0
    /// The last number sent on this link; `everSent` covers all links.
    private var sent: UInt64 = 0
    private(set) var everSent: UInt64 = 0
    private var flyingBytes = 0

    init(limits: BridgeLimits) { self.limits = limits }

    // MARK: Out

    func hasSpace(for byteCount: Int) -> Bool {
        unacknowledged.count < limits.queueCount && queuedBytes + byteCount <= limits.queueByteCount
    }

    /// - Throws: `.tooLarge` over the limit of one message, `.queueFull`.
    mutating func enqueue(_ content: BridgeContent) throws(StoreError) {
        try Self.check(content, limits)
        guard hasSpace(for: content.payload.count) else {
            throw StoreError(
                .queueFull,
                "\(unacknowledged.count) messages wait for the other side; try again when it has taken some"
            )
        }
        append(content)
    }

    static func check(_ content: BridgeContent, _ limits: BridgeLimits) throws(StoreError) {
        guard content.payload.count <= limits.messageByteCount else {
            throw StoreError(
                .tooLarge,
                "a message of \(content.payload.count) bytes is over the limit of "
                    + "\(limits.messageByteCount); send it in parts or as an address")
        }
    }

    /// Queues an event even if the queue is full; if `replaces`, it supersedes a waiting one of the same name.
    mutating func enqueueEvent(_ name: String, _ payload: [UInt8], replaces: Bool) {
        let content = BridgeContent.event(name: name, payload[...])
        if replaces {
            for index in unacknowledged.indices.reversed()
            where acknowledged + UInt64(index) >= everSent {
                guard case .event(name, let old) = unacknowledged[index] else { continue }
                queuedBytes += payload.count - old.count
                unacknowledged[index] = content
                return
            }
            guard hasSpace(for: payload.count) else { return }
        }
        append(content)
    }

    private mutating func append(_ content: BridgeContent) {
        unacknowledged.append(content)
        queuedBytes += content.payload.count
    }

    var canSend: Bool {
        let flying = Int(sent - acknowledged)
        guard flying < unacknowledged.count, flying < BridgeLimits.windowCount else { return false }
        let count = unacknowledged[flying].payload.count
        return flying == 0 || flyingBytes + count <= BridgeLimits.windowByteCount
    }

    /// The next message to send on this link, or the acknowledgement due; `nil` if there is neither.
    mutating func nextFrame(now: Duration) -> BridgeFrame? {
        if canSend {
            let next = unacknowledged[Int(sent - acknowledged)]
            sent += 1
            everSent = max(everSent, sent)
            flyingBytes += next.payload.count
            tell()
            return .numbered(sent, acknowledged: taken, next)
        }
        guard let due = acknowledgementDue, due <= now else { return nil }
        acknowledgementDue = nil
        isLate = received > taken
        guard mustTell || taken > told else { return nil }
        tell()
        return .acknowledgement(taken)
    }

    private mutating func tell() {
        told = taken
        mustTell = false
        guard taken == received else { return }
        acknowledgementDue = nil
        isLate = false
    }

    mutating func acknowledgement() -> BridgeFrame {
        tell()
        return .acknowledgement(taken)
    }

    // MARK: In

    /// Takes a numbered frame; returns `nil` if it came before.
    mutating func accept(
        _ sequence: UInt64, acknowledged: UInt64, _ content: BridgeContent, now: Duration
    ) throws(BridgeViolation) -> BridgeContent? {
        try acknowledge(acknowledged)
        guard sequence > received else {
            probe(now: now)
            return nil
        }
        guard sequence == received + 1 else {
            throw BridgeViolation(
                .protocolError, "message \(sequence) came after \(received)")
        }
        let count = content.payload.count
        guard count <= limits.messageByteCount else {
            throw BridgeViolation(.tooLarge, "a message is over \(limits.messageByteCount) bytes")
        }
        let untaken = Int(received - taken)
        guard untaken < BridgeLimits.windowCount,
            untaken == 0 || untakenBytes + count <= BridgeLimits.windowByteCount
        else { throw BridgeViolation(.policy, "more messages than the window allows") }
        received = sequence
        untakenBytes += count
        if acknowledgementDue == nil, !isLate {
            acknowledgementDue = now + BridgeLimits.acknowledgementDelay
        }
        return content
    }

    mutating func acknowledge(_ number: UInt64) throws(BridgeViolation) {
        guard number <= everSent else {
            throw BridgeViolation(.protocolError, "an acknowledgement of what was never sent")
        }
        guard number > acknowledged else { return }
        let gone = unacknowledged[..<Int(number - acknowledged)]
        for (index, content) in gone.enumerated() {
            let count = content.payload.count
            queuedBytes -= count
            if acknowledged + UInt64(index) < sent { flyingBytes -= count }
        }
        unacknowledged.removeFirst(gone.count)
        acknowledged = number
        sent = max(sent, number)
    }

    /// Notes that the application has taken its oldest waiting message, of this size.
    /// - Returns: whether to send an acknowledgement now.
    mutating func take(byteCount: Int) -> Bool {
        precondition(taken < received, "more messages were taken than received")
        taken += 1
        untakenBytes -= byteCount
        guard isLate || taken - told >= BridgeLimits.acknowledgementCount else { return false }
        acknowledgementDue = .zero
        return true
    }

    /// Makes an acknowledgement due at once, because the other side asks for it.
    mutating func probe(now: Duration) {
        acknowledgementDue = now
        mustTell = true
    }

    // MARK: Links

    /// Continues on a new link; repeats the acknowledgement, which the other side may not have got.
    mutating func relink(received number: UInt64, now: Duration) throws(BridgeViolation) {
        try rewind(to: number)
        if taken > 0 { probe(now: now) }
    }

    mutating func rewind(to number: UInt64) throws(BridgeViolation) {
        guard number >= acknowledged, number <= everSent else {
            throw BridgeViolation(
                .protocolError, "a session continues from \(number), which does not fit it")
        }
        sent = number
        flyingBytes = 0
        for content in unacknowledged[..<Int(sent - acknowledged)] {
            flyingBytes += content.payload.count
        }
    }
}

extension StoreError.Code {
    /// Too many messages wait for a page of the bridge that does not take them.
    public static let queueFull = Self("queueFull")
}
