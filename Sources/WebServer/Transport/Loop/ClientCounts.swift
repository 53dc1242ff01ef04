/// How many connections each client has.
///
/// A client is an address, and with IPv6 the network of 64 bits that one host has as a rule (RFC 6177).
struct ClientCounts {
    /// What tells clients apart.
    typealias Client = [UInt8]

    private var counts: [Client: Int] = [:]

    /// The client at an address.
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

    /// Counts one fewer.
    mutating func remove(_ client: Client) {
        guard let count = counts[client] else { return }
        counts[client] = count > 1 ? count - 1 : nil
    }
}
