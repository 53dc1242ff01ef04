public import CASStore

/// The name of a version, which operators type and files are named after.
///
/// 1 to 128 of the characters `A–Z a–z 0–9 . _ - + @ ~`, the first a letter or a digit. It is therefore a valid file
/// name everywhere, never hidden, never taken for an option, and contains no `:` or `/`.
public struct VersionName: Sendable, Hashable, Comparable, CustomStringConvertible {
    package static let byteCountMax = 128

    /// The name as text.
    public let description: String

    /// Validates a name.
    /// - Throws: `.badName` with the rule that `text` breaks.
    public init(_ text: String) throws(StoreError) {
        if let problem = Self.problem(text) {
            throw StoreError(
                .badName, "\"\(printable(text))\" cannot be the name of a version: \(problem)")
        }
        description = text
    }

    static func isName(_ text: String) -> Bool { problem(text) == nil }

    private static func problem(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        if bytes.isEmpty { return "it is empty" }
        if bytes.count > byteCountMax { return "it is longer than \(byteCountMax) bytes" }
        guard let first = bytes.first, isAlphanumeric(first) else {
            return "it must begin with a letter or a digit"
        }
        guard bytes.allSatisfy({ isAlphanumeric($0) || Array("._-+@~".utf8).contains($0) }) else {
            return "only letters, digits and . _ - + @ ~ are allowed"
        }
        return nil
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }

    /// Orders by bytes.
    public static func < (left: VersionName, right: VersionName) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}
