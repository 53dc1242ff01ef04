package struct SocketAddress: Sendable, Hashable, CustomStringConvertible {
    /// 4 or 16 bytes in network order.
    package let address: [UInt8]
    /// 0 lets the system choose.
    package let port: UInt16

    /// - Precondition: `address` has 4 or 16 bytes.
    package init(address: [UInt8], port: UInt16) {
        precondition(address.count == 4 || address.count == 16, "an IP address has 4 or 16 bytes")
        self.address = address
        self.port = port
    }

    package static func loopback4(_ port: UInt16) -> SocketAddress {
        SocketAddress(address: [127, 0, 0, 1], port: port)
    }

    package static func loopback6(_ port: UInt16) -> SocketAddress {
        SocketAddress(address: [UInt8](repeating: 0, count: 15) + [1], port: port)
    }

    var is6: Bool { address.count == 16 }

    package var description: String {
        if !is6 {
            return address.map { String($0) }.joined(separator: ".") + ":\(port)"
        }
        var groups: [String] = []
        for index in stride(from: 0, to: 16, by: 2) {
            groups.append(String(Int(address[index]) << 8 | Int(address[index + 1]), radix: 16))
        }
        return "[" + groups.joined(separator: ":") + "]:\(port)"
    }
}
