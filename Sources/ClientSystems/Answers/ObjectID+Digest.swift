package import Platform

extension ObjectID {
    /// The SHA-256 of bytes in memory.
    package init(sha256Of bytes: [UInt8]) throws(StoreError) {
        let digest = try Digester.digest(.sha256, of: bytes)
        self = digest.withUnsafeBytes { ObjectID(unchecked: $0) }
    }
}
