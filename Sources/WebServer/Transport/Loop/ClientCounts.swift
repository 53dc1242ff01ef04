/// How many connections each client has: an address, or one host's network of 64 bits in IPv6 (RFC 6177).
struct ClientCounts {
    typealias Client = [UInt8]

    private var counts: [Client: Int] = [:]

    static func client(at peer: SocketAddress) -> Client {
        let address = peer.unmapped.address
        return address.count == 16 ? Array(address[..<8]) : address
    }

    /// Counts one more connection of a client; returns how many it has now.
    mutating func add(_ client: Client) -> Int {
        let count = counts[client, default: 0] + 1
        counts[client] = count
        return count
    }

    mutating func remove(_ client: Client) {
        guard let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }
}
