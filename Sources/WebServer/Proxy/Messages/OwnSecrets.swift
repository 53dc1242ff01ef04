/// Removes the server's own cookies and parameters from what an upstream gets.
///
/// The token gives anyone access to this server, and an upstream does not need it. All their names begin with
/// `castree_`.
package enum OwnSecrets {
    private static let prefix = Array("castree_".utf8)

    /// Whether a value may contain one; nearly none does.
    static func mayStand(in value: ArraySlice<UInt8>) -> Bool {
        var rest = value
        while let position = rest.firstIndex(of: prefix[0]) {
            rest = rest[position...]
            if rest.starts(with: prefix) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// The Cookie field without our cookies; empty if none is left.
    static func withoutCookies(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var kept: [UInt8] = []
        for pair in value.split(separator: 59) {
            let cookie = pair.drop { $0 == 32 || $0 == 9 }
            if cookie.isEmpty || cookie.starts(with: prefix) { continue }
            if !kept.isEmpty { kept += [59, 32] }
            kept += cookie
        }
        return kept
    }

    /// A query without our parameters; empty if none is left.
    package static func withoutParameters(_ query: ArraySlice<UInt8>) -> [UInt8] {
        let kept = query.split(separator: 38, omittingEmptySubsequences: false).filter {
            !$0.starts(with: prefix)
        }
        return Array(kept.joined(separator: [38]))
    }

    /// An address, as in Referer, without our parameters in its query.
    static func withoutParameters(ofAddress value: ArraySlice<UInt8>) -> [UInt8] {
        guard let mark = value.firstIndex(of: 63) else { return Array(value) }
        let query = withoutParameters(value[(mark + 1)...])
        return Array(value[..<mark]) + (query.isEmpty ? [] : [63] + query)
    }
}
