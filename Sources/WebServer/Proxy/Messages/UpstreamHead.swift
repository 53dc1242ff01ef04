/// What an upstream's answer says before its body; positions in the bytes it was read from.
struct UpstreamHead {
    var status = 0
    /// 0 or 1: HTTP/1.0 or HTTP/1.1.
    var minorVersion = 1
    var reason = 0..<0
    var fields: [RequestHead.Field] = []
    /// The Content-Length.
    var length: Int64?
    var codings = TransferCodings()
    /// The elements of all Connection fields.
    var options: [Range<Int>] = []
    var hasDate = false
    /// The value of the Upgrade field.
    var upgrade: Range<Int>?
    /// Whether the upstream wants another request on this connection.
    var isKeepAlive = false
    /// Whether Connection names Upgrade.
    var isUpgrade = false

    /// How the end of the body is found.
    enum Framing {
        case none
        case length(Int64)
        case chunked
        case untilClose
    }

    /// RFC 9112, section 6.3.
    func framing(toHead: Bool) -> Framing {
        if toHead || status < 200 || status == 204 || status == 304 { return .none }
        if codings.isPresent { return .chunked }
        if let length { return .length(length) }
        return .untilClose
    }

    mutating func clear() {
        fields.removeAll(keepingCapacity: true)
        options.removeAll(keepingCapacity: true)
        length = nil
        codings = TransferCodings()
        hasDate = false
        upgrade = nil
        isKeepAlive = false
        isUpgrade = false
    }
}
