import ProgramTestSupport

/// Answers as they come over the wire.
enum RawAnswer {
    /// Sends bytes on a connection of its own and reads all that comes.
    static func bytes(_ served: Served, _ request: [UInt8]) throws -> [UInt8] {
        let peer = TestPeer(try TestSocket.connected(to: served.port), isClient: true)
        // A server that has refused may have closed already.
        peer.send(request)
        return peer.readAll()
    }

    /// The same as text: a letter for each byte.
    static func exchange(_ served: Served, _ request: String) throws -> String {
        var text = String.UnicodeScalarView()
        for byte in try bytes(served, Array(request.utf8)) { text.append(Unicode.Scalar(byte)) }
        return String(text)
    }

    /// The status, the head and the body of the answer to a request.
    static func parts(
        _ served: Served, _ target: [UInt8], _ fields: [String] = [], method: String = "GET"
    ) throws -> (status: Int, head: String, bytes: [UInt8]) {
        let request =
            Array("\(method) ".utf8) + target
            + Array(
                (" HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n"
                    + fields.map { $0 + "\r\n" }.joined() + "\r\n").utf8)
        let all = try bytes(served, request)
        let end = try require(all.firstRange(of: Array("\r\n\r\n".utf8)))
        let head = String(decoding: all[..<end.lowerBound], as: UTF8.self)
        return (Int(head.dropFirst(9).prefix(3)) ?? 0, head, Array(all[end.upperBound...]))
    }

    /// The number in its first line.
    static func status(_ text: String) -> Int? {
        text.hasPrefix("HTTP/1.1 ") ? Int(text.dropFirst(9).prefix(3)) : nil
    }

    /// Whether what came is one answer that closes, or one with its length and then a 404 to the next request.
    static func isDecided(_ text: String, _ method: String) -> Bool {
        // The server's word that it waits for the body is no answer.
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        let text = text.hasPrefix(interim) ? String(text.dropFirst(interim.count)) : text
        guard let end = text.range(of: "\r\n\r\n"), let status = status(text) else { return false }
        let lines = text[..<end.lowerBound].lowercased().components(separatedBy: "\r\n")
        let length = lines.first { $0.hasPrefix("content-length: ") }.flatMap {
            Int($0.dropFirst(16))
        }
        let isBodyless = method == "HEAD" || status == 204 || status == 304
        let rest = text[end.upperBound...].unicodeScalars
        if lines.contains("connection: close") {
            return isBodyless ? rest.isEmpty : length.map { $0 == rest.count } ?? true
        }
        guard isBodyless || length != nil else { return false }
        let next = rest.dropFirst(isBodyless ? 0 : length ?? 0)
        return String(next).hasPrefix("HTTP/1.1 404 ")
    }
}
