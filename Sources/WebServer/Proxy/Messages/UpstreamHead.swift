/// What an upstream's answer says before its body, as positions in the bytes it was read from.
struct UpstreamHead {
    var status = 0
    /// 0 or 1: HTTP/1.0 or HTTP/1.1.
    var minorVersion = 1
    var reason = 0..<0
    var fields: [RequestHead.Field] = []
    /// The Content-Length.
    var length: Int64?
    /// How the end of a body, if there is one, is marked; `nil` if no field says.
    var framing: BodyFraming?
    var connection = ConnectionField()
    var hasDate = false
    /// The value of the Upgrade field.
    var upgrade: Range<Int>?

    /// Whether the upstream wants another request on this connection.
    var isKeepAlive: Bool {
        !connection.closes && (minorVersion == 1 || connection.keepsAlive)
    }

    /// How the end of the body is found (RFC 9112, section 6.3).
    func framing(toHead: Bool) -> BodyFraming {
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        return framing ?? .untilClose
    }

    mutating func clear() {
        fields.removeAll(keepingCapacity: true)
        length = nil
        framing = nil
        connection.clear()
        hasDate = false
        upgrade = nil
    }
}
