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

/// An upstream's `Clear-Site-Data` field, without this server's own cookies.
///
/// A logout sends `"cookies"` or `"*"`. That would also delete this server's cookies, which have the same origin and
/// identify its pages and authorized users.
package enum ClearedData {
    private static let others = [
        "cache", "clientHints", "executionContexts", "prefetchCache", "prerenderCache", "storage",
    ]

    /// A value of the field as the client gets it; `nil` if it stays, empty if nothing is left of it.
    package static func withoutCookies(_ value: [UInt8]) -> [UInt8]? {
        var kept: [[UInt8]] = []
        var hasChanged = false
        for element in value.split(separator: 44) {
            let type = element.trimmed()
            let name = type.filter { $0 != 34 }
            if name[...].isWord("*") {
                kept += others.map { Array("\"\($0)\"".utf8) }
                hasChanged = true
            } else if name[...].isWord("cookies") {
                hasChanged = true
            } else if !type.isEmpty {
                kept.append(Array(type))
            }
        }
        return hasChanged ? Array(kept.joined(separator: [44, 32])) : nil
    }
}
