import HotPush

// Versions as the servers of other systems read them from requests: with node-semver 7, of which both functions have
// the name and the limits.

extension SemanticVersion {
    /// Reads a version by node-semver's `valid`: white space around it and a `v` before it are dropped.
    init?(valid text: String) {
        let trimmed = text.trimmed()
        guard trimmed.utf8.count <= Self.byteCountMax else { return nil }
        self.init(String(trimmed.trimmingPrefix("v")))
        guard isWithinNumbers else { return nil }
    }

    /// Finds the first version in a text by node-semver's `coerce`: `v1.2-beta` means 1.2.0.
    init?(coercing text: String) {
        let bytes = Array(text.utf8)
        var position = 0
        while let start = bytes[position...].firstIndex(where: Self.isDigit) {
            let run = bytes[start...].prefix(while: Self.isDigit)
            position = run.endIndex
            if run.count > Self.digitCountMax { continue }
            var parts = [run]
            while parts.count < 3, position < bytes.endIndex, bytes[position] == UInt8(ascii: ".") {
                let next = bytes[(position + 1)...].prefix(while: Self.isDigit)
                guard (1...Self.digitCountMax).contains(next.count) else { break }
                parts.append(next)
                position = next.endIndex
            }
            let version = parts.map { String(decoding: $0, as: UTF8.self) }
            self.init(version.joined(separator: "."), padding: true)
            guard isWithinNumbers else { return nil }
            return
        }
        return nil
    }

    /// The longest version in UTF-16 units; what is longer than that in bytes alone is no version anyway.
    private static let byteCountMax = 256
    private static let digitCountMax = 16
    /// The largest whole number that a JavaScript number keeps apart from its neighbours.
    private static let numberMax: UInt64 = (1 << 53) - 1

    private var isWithinNumbers: Bool { max(major, minor, patch) <= Self.numberMax }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}
