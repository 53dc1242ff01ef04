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
