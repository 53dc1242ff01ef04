import CSystem

/// Sixteen random hexadecimal digits, unique among processes.
package func randomToken() throws(StoreError) -> String {
    var bytes: UInt64 = 0
    try withUnsafeMutableBytes(of: &bytes) { (bytes) throws(StoreError) in try fillRandomly(bytes) }
    return withUnsafeBytes(of: bytes) { Hex.string(Array($0)) }
}

/// Fills memory with unpredictable bytes.
/// - Throws: `.io` if the system has none.
func fillRandomly(_ bytes: UnsafeMutableRawBufferPointer) throws(StoreError) {
    guard castree_random(bytes.baseAddress, bytes.count) == 0 else {
        throw StoreError(.io, "the system gives no random numbers (getrandom)")
    }
}
