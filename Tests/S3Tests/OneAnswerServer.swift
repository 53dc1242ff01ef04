import Foundation
import Platform
import SocketTestSupport
import Synchronization

/// A server of one thread that answers each connection's requests with texts, and keeps what it was sent.
final class OneAnswerServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let seen = Mutex<[String]>([])

    /// The requests, each with its body.
    var requests: [String] { seen.withLock { $0 } }

    /// - Parameter answers: one for each request of a connection, after which it is closed; none: it is
    ///   closed at once, nil: it is kept silent until the peer goes.
    init(_ answers: [String?]) throws {
        listener = TestSocket.make()
        guard TestSocket.bind(listener, to: 0), listen(listener, 16) == 0 else {
            throw StoreError(.io, "no port for a test server")
        }
        port = TestSocket.port(of: listener)
        Parallel.detach { [self] in
            while true {
                let raw = accept(listener, nil, nil)
                // Only here, so that its number is nobody else's while this thread uses it.
                guard raw >= 0 else {
                    close(listener)
                    return
                }
                TestSocket.limitPatience(raw)
                serve(raw, answers)
                close(raw)
            }
        }
    }

    /// Takes no further connections; the thread frees the port.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    private func serve(_ raw: Int32, _ answers: [String?]) {
        for answer in answers {
            guard let request = request(raw) else { return }
            seen.withLock { $0.append(request) }
            guard let answer else {
                _ = receive(raw)
                return
            }
            let bytes = Array(answer.utf8)
            #if canImport(Glibc)
                _ = send(raw, bytes, bytes.count, Int32(MSG_NOSIGNAL))
            #else
                _ = send(raw, bytes, bytes.count, 0)
            #endif
        }
    }

    /// Head and body of the next request; nil if the peer has gone.
    private func request(_ raw: Int32) -> String? {
        var text = ""
        while !text.contains("\r\n\r\n") {
            let more = receive(raw)
            if more.isEmpty { return nil }
            text += more
        }
        let length = text.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
        while text.utf8.count
            - (text.firstRange(of: "\r\n\r\n")?.upperBound.utf16Offset(in: text) ?? 0)
            < length
        {
            let more = receive(raw)
            if more.isEmpty { return text }
            text += more
        }
        return text
    }

    private func receive(_ raw: Int32) -> String {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = recv(raw, &chunk, chunk.count, 0)
        return count > 0 ? String(decoding: chunk[..<count], as: UTF8.self) : ""
    }
}
