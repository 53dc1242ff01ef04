import CSystem

/// Host names to addresses, as the system knows them (getaddrinfo(3)).
enum NameLookUp {
    typealias Function = @Sendable (_ name: String, _ port: UInt16) -> [SocketAddress]

    /// The addresses of a name, in the order to try; may block for seconds: never call it on a loop's thread.
    @Sendable static func addresses(of name: String, port: UInt16) -> [SocketAddress] {
        var found = [castree_resolved](repeating: castree_resolved(), count: 16)
        let count = castree_resolve(name, &found, Int32(found.count))
        var addresses: [SocketAddress] = []
        for each in found.prefix(max(0, Int(count))) {
            let bytes = withUnsafeBytes(of: each.bytes) { Array($0.prefix(Int(each.count))) }
            addresses.append(SocketAddress(address: bytes, port: port))
        }
        return addresses
    }
}
