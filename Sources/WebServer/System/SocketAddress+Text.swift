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
