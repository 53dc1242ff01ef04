import Foundation
import Testing

/// One end of a connection, as a test drives it; reads wait, at most two minutes.
package final class TestPeer {
    private let raw: Int32
    private let isClient, closes: Bool
    private var isClosed = false
    /// What has come and was not taken.
    package var buffer: [UInt8] = []
    /// Hears of each head of a message.
    package var noteHead: (String) -> Void = { _ in }
    /// Hears how many bytes were sent.
    package var noteSent: (Int) -> Void = { _ in }

    /// - Parameters:
    ///   - isClient: whether it is an issue if nothing comes: a server must never hang.
    ///   - closes: whether the connection ends with it.
    package init(_ raw: Int32, isClient: Bool = false, closes: Bool = true) {
        (self.raw, self.isClient, self.closes) = (raw, isClient, closes)
        TestSocket.limitWaiting(raw)
    }

    deinit { if closes { close() } }

    package func close() {
        guard !isClosed else { return }
        isClosed = true
        TestSocket.end(raw)
    }

    // MARK: Reading

    /// Reads once; `false` at the end or after an error.
    package func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        var count = -1
        repeat { count = recv(raw, &chunk, chunk.count, 0) } while count < 0 && errno == EINTR
        if isClient, count < 0, errno == EAGAIN { Issue.record("nothing came for two minutes") }
        guard count > 0 else { return false }
        buffer += chunk[..<count]
        return true
    }

    private func take(_ count: Int) -> [UInt8] {
        let some = Array(buffer.prefix(count))
        buffer.removeFirst(some.count)
        return some
    }

    /// What has come, waiting for the first of it; nothing at the end.
    package func receive() -> [UInt8] {
        if buffer.isEmpty { _ = fill() }
        return take(buffer.count)
    }

    /// So many bytes, or fewer at the end.
    package func read(_ count: Int) -> [UInt8] {
        while buffer.count < count, fill() {}
        return take(count)
    }

    /// Everything up to the end of the connection.
    package func readAll() -> [UInt8] { read(.max) }

    /// All up to and with `end`; `nil` if that does not come.
    package func through(_ end: [UInt8]) -> [UInt8]? {
        var start = 0
        while true {
            while start + end.count <= buffer.count {
                if buffer[start..<start + end.count].elementsEqual(end) {
                    return take(start + end.count)
                }
                start += 1
            }
            guard fill() else { return nil }
        }
    }

    /// Reads up to and with `text`; whether it came.
    package func through(_ text: String) -> Bool { through(Array(text.utf8)) != nil }

    /// The head of a message with its empty line; `nil` at the end.
    @discardableResult
    package func head() -> String? {
        guard let head = through([13, 10, 13, 10]) else { return nil }
        let text = String(decoding: head, as: UTF8.self)
        noteHead(text)
        return text
    }

    /// Whether the other end has closed.
    package func isAtEnd() -> Bool { buffer.isEmpty && !fill() }

    /// Whether the connection is broken off, not ended, before another byte comes.
    package func endsWithReset() -> Bool {
        var byte: UInt8 = 0
        return recv(raw, &byte, 1, 0) < 0 && errno == ECONNRESET
    }

    // MARK: Sending

    @discardableResult
    package func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    @discardableResult
    package func send(_ bytes: [UInt8]) -> Bool { send(bytes[...]) }

    /// Sends all of it; `false` if the other end is gone.
    @discardableResult
    package func send(_ bytes: ArraySlice<UInt8>) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { TestSocket.give($0, to: raw) }
            if count < 0, errno == EINTR { continue }
            // What it said before is what counts.
            guard count > 0 else { return false }
            noteSent(count)
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// Says that nothing more comes.
    package func finishSending() { shutdown(raw, Int32(SHUT_WR)) }

    /// Lets time pass; `false` as soon as the other end goes or says something.
    package func pause(milliseconds: Int32) -> Bool {
        var look = pollfd(fd: raw, events: Int16(POLLIN), revents: 0)
        return poll(&look, 1, milliseconds) == 0
    }
}
