import Foundation
import Platform
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

    /// Where it listens, on the IPv4 loopback.
    public let port: UInt16
    private let listener: Int32
    private let sent = Mutex((byteCount: 0, requestCount: 0))

    /// How many bytes it could send, and how many requests have come.
    public var byteCount: Int { sent.withLock { $0.byteCount } }
    /// See ``byteCount``.
    public var requestCount: Int { sent.withLock { $0.requestCount } }

    /// Starts it.
    public init(_ flood: Flood) throws {
        listener = TestSocket.make()
        guard TestSocket.bind(listener, to: 0), listen(listener, 16) == 0 else {
            throw TestSocket.Refusal(description: "no port for a test server", number: errno)
        }
        port = TestSocket.port(of: listener)
        Parallel.detach { [self] in
            while true {
                let raw = accept(listener, nil, nil)
                guard raw >= 0 else {
                    close(listener)
                    return
                }
                TestSocket.limitPatience(raw)
                serve(raw, flood)
                close(raw)
            }
        }
    }

    /// Takes no further connections; the thread frees the port.
    public func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ raw: Int32, _ flood: Flood) {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var text = ""
        while !text.contains("\r\n\r\n") {
            let count = recv(raw, &chunk, chunk.count, 0)
            guard count > 0 else { return }
            text += String(decoding: chunk[..<count], as: UTF8.self)
        }
        sent.withLock { $0.requestCount += 1 }
        guard pass(Array(flood.beginning.utf8), to: raw) else { return }
        for _ in 0..<flood.count {
            // The attack itself is to be slow.
            if flood.pauseMilliseconds > 0 { poll(nil, 0, flood.pauseMilliseconds) }
            guard pass(flood.piece, to: raw) else { return }
        }
    }

    /// - Returns: whether the peer still takes something.
    private func pass(_ bytes: [UInt8], to raw: Int32) -> Bool {
        #if canImport(Glibc)
            let flags = Int32(MSG_NOSIGNAL)
        #else
            let flags: Int32 = 0
        #endif
        var offset = 0
        while offset < bytes.count {
            let count = bytes.withUnsafeBytes { all in
                let rest = UnsafeRawBufferPointer(rebasing: all[offset...])
                return send(raw, rest.baseAddress, rest.count, flags)
            }
            guard count > 0 else { return false }
            offset += count
            sent.withLock { $0.byteCount += count }
        }
        return true
    }
}
