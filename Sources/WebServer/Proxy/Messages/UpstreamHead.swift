/// The head of an upstream's answer, as positions in the bytes it was read from.
struct UpstreamHead {
    var status = 0
    var minorVersion = 1
    var reason = 0..<0
    var fields: [RequestHead.Field] = []
    var length: Int64?
    var framing: BodyFraming?
    var connection = ConnectionField()
    var hasDate = false
    var upgrade: Range<Int>?

    var isKeepAlive: Bool {
        !connection.closes && (minorVersion == 1 || connection.keepsAlive)
    }

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
