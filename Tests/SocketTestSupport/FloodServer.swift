import Foundation
import Synchronization

/// A server that answers every request with the same flood, until the peer goes, and counts what it could send.
public final class FloodServer: Sendable {
    /// What is sent: a beginning, then a piece again and again.
    public struct Flood: Sendable {
        /// What comes first.
        public var beginning: String
        /// What comes then, so often.
        public var piece: [UInt8]
        /// How often the piece comes.
        public var count: Int
        /// Waits so long before each piece.
        public var pauseMilliseconds: Int32

        /// Describes a flood.
        public init(
            beginning: String, piece: [UInt8] = [], count: Int = 0, pauseMilliseconds: Int32 = 0
        ) {
            self.beginning = beginning
            self.piece = piece
            self.count = count
            self.pauseMilliseconds = pauseMilliseconds
        }
    }

    private final class Sent: Sendable {
        let counts = Mutex((byteCount: 0, requestCount: 0))
    }

    private let server: ScriptedServer
    private let sent: Sent

    /// Where it listens, on the IPv4 loopback.
    public var port: UInt16 { server.port }
    /// How many bytes it could send, and how many requests have come.
    public var byteCount: Int { sent.counts.withLock { $0.byteCount } }
    /// See ``byteCount``.
    public var requestCount: Int { sent.counts.withLock { $0.requestCount } }

    /// Starts it.
    public init(_ flood: Flood) throws {
        let sent = Sent()
        self.sent = sent
        server = try ScriptedServer { peer in
            guard peer.head() != nil else { return }
            sent.counts.withLock { $0.requestCount += 1 }
            peer.noteSent = { count in sent.counts.withLock { $0.byteCount += count } }
            guard peer.send(flood.beginning) else { return }
            for _ in 0..<flood.count {
                // The attack itself is to be slow.
                if flood.pauseMilliseconds > 0 { poll(nil, 0, flood.pauseMilliseconds) }
                guard peer.send(flood.piece) else { return }
            }
        }
    }

    /// Takes no further connections; the thread frees the port.
    public func stop() { server.stop() }
}
