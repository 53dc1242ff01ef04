/// Keyed digests (RFC 2104) by SHA-256.
package enum HMAC {
    /// The block size of SHA-256 (FIPS 180-4, section 1).
    private static let blockByteCount = 64

    package static func sha256(
        key: some Sequence<UInt8>, _ message: some Sequence<UInt8>
    ) throws(StoreError) -> [UInt8] {
        var block = Array(key)
        if block.count > blockByteCount { block = try Digester.digest(.sha256, of: block) }
        block += [UInt8](repeating: 0, count: blockByteCount - block.count)
        let inner = try Digester.digest(.sha256, of: block.map { $0 ^ 0x36 } + Array(message))
        return try Digester.digest(.sha256, of: block.map { $0 ^ 0x5c } + inner)
    }
}
