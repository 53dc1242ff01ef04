/// An upstream's `Clear-Site-Data` field, without this server's own cookies.
///
/// A logout sends `"cookies"` or `"*"`. That would also delete this server's cookies, which have the same origin and
/// identify its pages and authorized users.
package enum ClearedData {
    private static let others = [
        "cache", "clientHints", "executionContexts", "prefetchCache", "prerenderCache", "storage",
    ]

    /// A value of the field as the client gets it; `nil` if it stays, empty if nothing is left of it.
    package static func withoutCookies(_ value: [UInt8]) -> [UInt8]? {
        var kept: [[UInt8]] = []
        var hasChanged = false
        for element in value.split(separator: 44) {
            let type = element.trimmed()
            let name = type.filter { $0 != 34 }
            if name[...].isWord("*") {
                kept += others.map { Array("\"\($0)\"".utf8) }
                hasChanged = true
            } else if name[...].isWord("cookies") {
                hasChanged = true
            } else if !type.isEmpty {
                kept.append(Array(type))
            }
        }
        return hasChanged ? Array(kept.joined(separator: [44, 32])) : nil
    }
}
