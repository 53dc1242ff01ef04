import CXXHash

/// The XXH3-128 of an object's bytes (xxHash 0.8), which detects bit rot at memory speed.
///
/// A fingerprint is never an address: content can be chosen so that two files share one.
package struct Fingerprint: Hashable, Sendable {
    /// The high half, in the canonical (big-endian) order of xxHash.
    package let high: UInt64
    package let low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads 16 bytes in canonical order; `nil` for any other count.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard bytes.count == 16 else { return nil }
        high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 0, as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    package func withBytes<R>(_ body: (UnsafeRawBufferPointer) -> R) -> R {
        withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { body($0) }
    }
}

/// A running fingerprint, reusable for any number of objects; one per worker.
package struct Fingerprinter: ~Copyable {
    private let state: OpaquePointer

    package init() throws(StoreError) {
        guard let state = XXH3_createState() else {
            throw StoreError(.outOfMemory, "unable to prepare a fingerprint: out of memory")
        }
        self.state = state
        XXH3_128bits_reset(state)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        XXH3_128bits_update(state, bytes.baseAddress, bytes.count)
    }

    package mutating func finish() -> Fingerprint {
        let hash = XXH3_128bits_digest(state)
        XXH3_128bits_reset(state)
        return Fingerprint(high: hash.high64, low: hash.low64)
    }

    package static func fingerprint(_ bytes: UnsafeRawBufferPointer) -> Fingerprint {
        let hash = XXH3_128bits(bytes.baseAddress, bytes.count)
        return Fingerprint(high: hash.high64, low: hash.low64)
    }

    deinit { XXH3_freeState(state) }
}
