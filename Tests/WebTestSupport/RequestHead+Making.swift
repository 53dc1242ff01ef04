package import Platform
@_exported public import SocketTestSupport
@_exported public import StorageTestSupport
@_exported public import WebServer

extension StoreError.Code {
    /// A request that a server would refuse before it looks for anything.
    package static let refusedRequest = Self("refusedRequest")
}

extension RequestHead {
    /// Makes a head without a socket.
    ///
    /// It goes through the same parser as bytes from a network. A `Host: localhost` is added if
    /// there is no field of that name.
    /// - Throws: `.refusedRequest` if a server would refuse it, with the server's sentence.
    package init(
        method: String, target: String, fields: [(String, String)] = []
    ) throws(StoreError) {
        var bytes = Array("\(method) \(target) HTTP/1.1".utf8)
        guard !bytes.contains(13), !bytes.contains(10) else {
            throw StoreError(.refusedRequest, "the method or the target holds a line end")
        }
        bytes += [13, 10]
        if !fields.contains(where: { $0.0.lowercased() == "host" }) {
            bytes += Array("Host: localhost\r\n".utf8)
        }
        for (name, value) in fields {
            let line = Array("\(name): \(value)".utf8)
            // A line end in a value would begin another field.
            guard !line.contains(13), !line.contains(10), !name.isEmpty else {
                throw StoreError(.refusedRequest, "a field holds a line end, or has no name")
            }
            bytes += line + [13, 10]
        }
        bytes += [13, 10]
        var parser = RequestParser()
        switch parser.parse(bytes.span) {
        case .head(let consumed, _) where consumed == bytes.count: self = parser.head
        case .failure(let failure):
            throw StoreError(.refusedRequest, "\(failure.sentence) (\(failure.status))")
        default: throw StoreError(.refusedRequest, "the request is not one request")
        }
    }
}
