package import Platform

/// The id of a bundle: a UUID of version 7 (RFC 9562, section 5.7), so that a newer bundle has a larger id.
package enum HotUpdaterID {
    /// Makes an id that whoever knows the same things makes again.
    ///
    /// - Parameters:
    ///   - milliseconds: when the channel first offered the content, since 1970.
    ///   - content: the content.
    ///   - deployments: the platforms and channels that it is for, in any order.
    package static func make(
        _ milliseconds: Int64, _ content: ObjectID, _ deployments: [String]
    ) throws(StoreError) -> String {
        var message = content.bytes
        for deployment in deployments.sorted(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) {
            message += [0] + Array(deployment.utf8)
        }
        let digest = try Digester.digest(.sha256, of: message)
        let time = UInt64(clamping: milliseconds)
        var bytes = (0..<6).map { UInt8(truncatingIfNeeded: time >> (40 - 8 * UInt64($0))) }
        bytes += digest.prefix(10)
        bytes[6] = bytes[6] & 0x0f | 0x70
        bytes[8] = bytes[8] & 0x3f | 0x80
        let groups = [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
        return groups.map { Hex.string($0) }.joined(separator: "-")
    }
}
