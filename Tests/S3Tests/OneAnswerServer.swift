import SocketTestSupport
import StorageTestSupport

/// A server that answers each connection's requests with texts, and keeps what it was sent.
final class OneAnswerServer: Sendable {
    private let server: ScriptedServer
    private let seen: Notices

    var port: UInt16 { server.port }
    var requests: [String] { seen.all }

    /// - Parameter answers: one for each request of a connection, after which it is closed; none: it is
    ///   closed at once, nil: it is kept silent until the peer goes.
    init(_ answers: [String?]) throws {
        let seen = Notices()
        self.seen = seen
        server = try ScriptedServer { peer in
            for answer in answers {
                guard let head = peer.head() else { return }
                let length =
                    head.firstMatch(of: /(?i)content-length: (\d+)/).flatMap { Int($0.1) } ?? 0
                seen.add(head + String(decoding: peer.read(length), as: UTF8.self))
                guard let answer else {
                    _ = peer.receive()
                    return
                }
                peer.send(answer)
            }
        }
    }

    func stop() { server.stop() }
}
