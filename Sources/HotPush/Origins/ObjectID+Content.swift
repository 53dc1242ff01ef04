package import CASStore

extension ObjectID {
    /// The address of content in memory.
    package init(of bytes: [UInt8]) throws(StoreError) {
        var hasher = try ObjectHasher()
        self = bytes.withUnsafeBytes { hasher.hash($0).address }
    }
}
