import CSystem

/// Sixteen hexadecimal digits that no other process has.
package func randomToken() throws(StoreError) -> String {
    var bytes: UInt64 = 0
    guard castree_random(&bytes, 8) == 0 else {
        throw StoreError(.io, "the system gives no random numbers (getrandom)")
    }
    return withUnsafeBytes(of: bytes) { Hex.string(Array($0)) }
}
