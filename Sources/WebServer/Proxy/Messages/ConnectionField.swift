/// What the Connection fields of a message say (RFC 9110, section 7.6.1).
struct ConnectionField {
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var upgrades = false
    private(set) var named: [Range<Int>] = []

    mutating func note(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        var elements = ListElements(value)
        while let option = elements.next(bytes) {
            if RequestHead.matches(bytes, option, "close") {
                closes = true
            } else if RequestHead.matches(bytes, option, "keep-alive") {
                keepsAlive = true
            } else if !option.isEmpty {
                if RequestHead.matches(bytes, option, "upgrade") { upgrades = true }
                named.append(option)
            }
        }
    }

    mutating func clear() {
        (closes, keepsAlive, upgrades) = (false, false, false)
        named.removeAll(keepingCapacity: true)
    }
}
