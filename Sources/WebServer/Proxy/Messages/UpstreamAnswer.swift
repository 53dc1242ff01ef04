/// Writes an upstream's head again for the client.
enum UpstreamAnswer {
    /// The status line and all fields meant for the client: none of the connection's, and at most one Content-Length.
    /// - Parameters:
    ///   - route: the route to the upstream, by which its own URLs and cookies are rewritten.
    ///   - isPlain: whether cookies lose what makes them for https alone.
    ///   - dropsDate: the transport adds its own Date.
    static func head(
        _ head: UpstreamHead, _ bytes: Span<UInt8>, by route: ProxyRoute, isPlain: Bool = false,
        dropsDate: Bool = false
    ) -> ResponseHead {
        let names = UpstreamNames(route: route, isPlain: isPlain)
        var written: [UInt8] = []
        let size = head.fields.last.map { $0.value.upperBound } ?? 0
        written.reserveCapacity(size + 96)
        written.append("HTTP/1.1 ")
        written.append(bytes, 9..<12)
        written.append(32)
        written.append(bytes, head.reason)
        written.append("\r\n")
        for field in head.fields where !FieldName.isHopByHop(bytes, field.name) {
            if FieldName.isNamed(bytes, field.name, in: head.connection.named) { continue }
            if dropsDate, RequestHead.matches(bytes, field.name, "date") { continue }
            if names.isRefused(bytes, field) { continue }
            guard let value = names.rewritten(bytes, field) else {
                written.append(bytes, field)
                continue
            }
            written.append(bytes, field.name)
            written.append(": ")
            written.append(contentsOf: value)
            written.append("\r\n")
        }
        // RFC 9110, section 8.6: 1xx and 204 have none. For HEAD and 304 it describes GET.
        if let length = head.length, head.status >= 200, head.status != 204 {
            written.append("Content-Length", String(length).utf8)
        }
        if head.status == 101, let upgrade = head.upgrade {
            written.append("Upgrade: ")
            written.append(bytes, upgrade)
            written.append("\r\n")
        }
        return ResponseHead(head.status, written: written)
    }
}
