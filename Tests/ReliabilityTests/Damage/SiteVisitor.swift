import SocketTestSupport
import StorageTestSupport

@testable import ServeFromCAS
@testable import WebServer

/// A server over a store, and the browsers that visit it.
final class VisitedSite: Sendable {
    private let server: AppServer

    init(_ versions: VersionStore) throws {
        var options = AppServerOptions()
        options.port = .exactly(0)
        var connections = ConnectionOptions()
        connections.headDeadline = 3_600_000
        connections.idle = 3_600_000
        connections.progressWindow = 3_600_000
        server = try AppServer(ServedStore(versions), options, connections: connections)
        try server.start()
    }

    func stop() async {
        server.stop(within: .zero)
        await server.waitUntilStopped()
    }

    /// What a page gets: the bytes of each path that was answered by 200, in the order of asking.
    ///
    /// All else is an error: another status, or a connection that ends before the answer is whole. That
    /// nothing comes at all for two minutes is an issue.
    func page(loading paths: [String]) throws -> [(path: String, bytes: [UInt8])] {
        var cookies = ""
        var answers: [(path: String, bytes: [UInt8])] = []
        for (position, path) in ([""] + paths).enumerated() {
            let isPage = position == 0
            var request = "GET /\(path) HTTP/1.1\r\nHost: localhost:\(server.port)\r\n"
            request += "Connection: close\r\nAccept: */*\r\n"
            request +=
                isPage
                ? "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"
                : "Sec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: script\r\n"
                    + "Referer: http://localhost:\(server.port)/\r\n"
            if !cookies.isEmpty { request += "Cookie: \(cookies)\r\n" }
            let answer = Answer(try received(request + "\r\n", port: server.port))
            guard let answer else { continue }
            if isPage { cookies = answer.cookies.joined(separator: "; ") }
            if answer.status == 200 { answers.append((isPage ? "index.html" : path, answer.body)) }
        }
        return answers
    }
}

private struct Answer {
    var status: Int
    var cookies: [String] = []
    var body: [UInt8]

    init?(_ bytes: [UInt8]) {
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: [13, 10, 13, 10]) })
        else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).components(separatedBy: "\r\n")
        guard lines[0].hasPrefix("HTTP/1.1 "), let status = Int(lines[0].dropFirst(9).prefix(3))
        else { return nil }
        self.status = status
        var length: Int?
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { continue }
            let value = parts[1].trimmingCharacters(in: .whitespaces)
            switch parts[0].lowercased() {
            case "content-length": length = Int(value)
            case "set-cookie": cookies.append(String(value.prefix { $0 != ";" }))
            default: break
            }
        }
        body = Array(bytes[(end + 4)...])
        // What is cut is no answer, and the browser knows it.
        guard let length, body.count == length else { return nil }
    }
}

/// Everything that a server sends in answer to a request that ends the connection.
private func received(_ request: String, port: UInt16) throws -> [UInt8] {
    let peer = TestPeer(try TestSocket.connected(to: port), isClient: true)
    try require(peer.send(request))
    return peer.readAll()
}
