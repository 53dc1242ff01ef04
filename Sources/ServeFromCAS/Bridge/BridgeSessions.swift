import CASStore

/// The pages known to a bridge, as a value.
struct BridgeSessions: Sendable {
    struct Session: Sendable {
        var queue: BridgeQueue
        /// The number of the newest link, the only one that gets frames; 0 before the first.
        var ticket: UInt64 = 0
        /// Called when there is something for the newest link; `nil` while there is no link.
        var wake: (@Sendable () -> Void)?
        var isWoken = false
        var unlinkedSince: Duration?
    }

    private(set) var all: [BridgeSessionID: Session] = [:]
    private let limits: BridgeLimits
    private var lastTicket: UInt64 = 0

    init(limits: BridgeLimits) { self.limits = limits }

    subscript(id: BridgeSessionID) -> Session? {
        get { all[id] }
        _modify { yield &all[id] }
    }

    struct Greeting {
        var session: BridgeSessionID
        var received: UInt64
        var ticket: UInt64
        var replaced: (@Sendable () -> Void)?
    }

    /// Links a page to its session, or to a new one if it names none that is known.
    /// - Parameter changes: gets the sessions that began and ended, even if the greeting is refused.
    /// - Throws: `.tryAgainLater` if all sessions have a connection and there is no space for another.
    mutating func greet(
        _ wanted: BridgeSessionID?, received: UInt64, wake: (@Sendable () -> Void)?, now: Duration,
        _ changes: inout [BridgeSessionChange]
    ) throws(BridgeViolation) -> Greeting {
        changes += expire(now: now)
        if let wanted, var session = all[wanted] {
            try session.queue.relink(received: received, now: now)
            let replaced = session.wake
            let ticket = link(&session, wake, now)
            all[wanted] = session
            return Greeting(
                session: wanted, received: session.queue.received, ticket: ticket,
                replaced: replaced)
        }
        if all.count >= limits.sessionCount {
            guard let oldest = longestUnlinked() else {
                changes.append(.refused)
                throw BridgeViolation(.tryAgainLater, "too many pages")
            }
            changes += end(oldest)
        }
        let id: BridgeSessionID
        do throws(StoreError) {
            id = try .random()
        } catch { throw BridgeViolation(.serverFailure, error.message) }
        var session = Session(queue: BridgeQueue(limits: limits))
        let ticket = link(&session, wake, now)
        all[id] = session
        changes.append(.opened(id))
        return Greeting(session: id, received: 0, ticket: ticket)
    }

    mutating func link(
        _ session: inout Session, _ wake: (@Sendable () -> Void)?, _ now: Duration
    ) -> UInt64 {
        lastTicket += 1
        session.ticket = lastTicket
        session.wake = wake
        session.isWoken = false
        session.unlinkedSince = wake == nil ? now : nil
        return lastTicket
    }

    /// Does nothing if a newer link has replaced it.
    mutating func unlink(_ id: BridgeSessionID, ticket: UInt64, now: Duration) {
        guard all[id]?.ticket == ticket else { return }
        all[id]?.wake = nil
        all[id]?.unlinkedSince = now
    }

    mutating func end(_ id: BridgeSessionID) -> [BridgeSessionChange] {
        guard let session = all.removeValue(forKey: id) else { return [] }
        return [.closed(id, undelivered: session.queue.unacknowledged.count)]
    }

    mutating func expire(now: Duration) -> [BridgeSessionChange] {
        var changes: [BridgeSessionChange] = []
        for (id, session) in all {
            guard let since = session.unlinkedSince, since + limits.sessionExpiry <= now else {
                continue
            }
            changes += end(id)
        }
        return changes
    }

    var nextExpiry: Duration? {
        all.values.lazy.compactMap(\.unlinkedSince).min().map { $0 + limits.sessionExpiry }
    }

    private func longestUnlinked() -> BridgeSessionID? {
        let unlinked = all.lazy.compactMap { id, session in
            session.unlinkedSince.map { (id: id, since: $0) }
        }
        return unlinked.min { $0.since < $1.since }?.id
    }
}

/// The name of one page's session: 128 random bits, which are a secret, because they give access to the session's
/// messages.
public struct BridgeSessionID: Sendable, Hashable, CustomStringConvertible {
    /// 32 lower-case hexadecimal digits.
    public let description: String

    package init?(_ text: String) {
        guard Hex.bytes(text)?.count == 16 else { return nil }
        description = text
    }

    static func random() throws(StoreError) -> BridgeSessionID {
        BridgeSessionID(digits: try randomToken() + randomToken())
    }

    private init(digits: String) { description = digits }
}
