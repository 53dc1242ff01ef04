import HotPush

// Version parsing of the other systems' servers: node-semver 7's functions of the same names, with its limits.

extension SemanticVersion {
    /// node-semver's `valid`: drops surrounding white space and a leading `v`.
    init?(valid text: String) {
        let trimmed = text.trimmed()
        guard trimmed.utf8.count <= Self.byteCountMax else { return nil }
        self.init(String(trimmed.trimmingPrefix("v")))
        guard isWithinNumbers else { return nil }
    }

    /// node-semver's `coerce`: finds the first version in a text, so `v1.2-beta` means 1.2.0.
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

    /// node-semver's limit, which counts UTF-16 units.
    private static let byteCountMax = 256
    private static let digitCountMax = 16
    /// JavaScript's `Number.MAX_SAFE_INTEGER`.
    private static let numberMax: UInt64 = (1 << 53) - 1

    private var isWithinNumbers: Bool { max(major, minor, patch) <= Self.numberMax }

    private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}
