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

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension SocketAddress {
    package init?(literal text: String, port: UInt16) {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var isAddress = false
            let bytes = [UInt8](unsafeUninitializedCapacity: count) { bytes, used in
                isAddress = inet_pton(family, text, bytes.baseAddress) == 1
                used = isAddress ? count : 0
            }
            if isAddress {
                self.init(address: bytes, port: port)
                return
            }
        }
        return nil
    }

    /// The address without its port, as RFC 5952 writes it.
    var hostText: String {
        var text = [CChar](repeating: 0, count: 64)
        let family = is6 ? AF_INET6 : AF_INET
        guard inet_ntop(family, address, &text, socklen_t(text.count)) != nil else { return "" }
        let end = text.firstIndex(of: 0) ?? 0
        return String(decoding: text[..<end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2), any other as it is.
    var unmapped: SocketAddress {
        let prefix = [UInt8](repeating: 0, count: 10) + [0xff, 0xff]
        guard is6, address.starts(with: prefix) else { return self }
        return SocketAddress(address: Array(address[12...]), port: port)
    }

    var isLoopback: Bool { is6 ? self == .loopback6(port) : address.first == 127 }
}

/// An IP address, or all that begin with the same bits: `10.0.0.0/8`.
package struct AddressBlock: Sendable, Hashable {
    private let address: [UInt8]
    private let bitCount: Int

    /// Reads `ADDRESS` or `ADDRESS/BITS`; `nil` if it is neither, or if bits beyond those are set.
    /// - Parameter text: as people write it, without brackets.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = SocketAddress(literal: String(parts[0]), port: 0)?.address else {
            return nil
        }
        var bitCount = address.count * 8
        if parts.count == 2 {
            let isNumber = parts[1].utf8.allSatisfy { (48...57).contains($0) }
            guard isNumber, let count = Int(parts[1]), count <= bitCount else { return nil }
            bitCount = count
        }
        self.address = address
        self.bitCount = bitCount
        guard Self.masked(address, bitCount) == address else { return nil }
    }

    /// - Parameter other: the address, whatever its port.
    package func contains(_ other: SocketAddress) -> Bool {
        other.address.count == address.count && Self.masked(other.address, bitCount) == address
    }

    static func masked(_ bytes: [UInt8], _ bitCount: Int) -> [UInt8] {
        bytes.enumerated().map { position, byte in
            let kept = min(max(bitCount - position * 8, 0), 8)
            return byte & UInt8(truncatingIfNeeded: 0xff00 >> kept)
        }
    }
}
