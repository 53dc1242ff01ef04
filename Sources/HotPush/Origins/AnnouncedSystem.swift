/// The name in paths of another system whose clients update from an origin; HotPush itself knows none of them.
package struct AnnouncedSystem: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let countMax = 16

    package let description: String

    /// Returns `nil` unless the name has 1 to 32 of `a–z 0–9 -`.
    package init?(_ name: String) {
        guard 1...32 ~= name.utf8.count,
            name.utf8.allSatisfy({
                UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0
                    || UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || $0 == UInt8(ascii: "-")
            })
        else { return nil }
        description = name
    }

    package init(known name: String) { description = name }

    package static func < (left: Self, right: Self) -> Bool { left.description < right.description }
}
