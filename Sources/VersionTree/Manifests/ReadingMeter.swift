package import StrictJSON

/// Meters the memory that an untrusted manifest takes while it is read, and stops reading in time.
///
/// A few bytes of text can become a hundred in memory (an entry, a route, a foreign value), so each is charged before
/// it is kept. Together they may take ten times the text or 16 MiB, whichever is more, which is no more than a plain
/// manifest of that size takes.
package struct ReadingMeter: Sendable {
    /// The memory limit as a multiple of the text.
    package static let factor = 10
    /// The memory that any manifest may take, in bytes.
    package static let byteCountMin = 16 << 20
    /// The memory of an entry from reading to planning, measured with the shortest entries.
    static let entryCost = 640
    /// The memory of a short text or a value of a tree, including the spare capacity of its array.
    static let valueCost = 128

    package let entryCountMax: Int
    private let textByteCount: Int
    private var entryCount = 0
    private var left: Int

    /// - Parameter byteCount: the size of the text.
    package init(byteCount: Int, entryCountMax: Int) {
        self.entryCountMax = entryCountMax
        textByteCount = byteCount
        left = max(Self.byteCountMin, Self.factor * byteCount)
    }

    /// Charges an entry; returns why it may not be kept, or nil if it may.
    package mutating func addEntry() -> String? {
        guard entryCount < entryCountMax else { return Self.tooMany(entryCountMax) }
        entryCount += 1
        return spend(Self.entryCost)
    }

    /// Charges a text, such as a route or a label; returns why it may not be kept, or nil if it may.
    package mutating func addText(_ byteCount: Int) -> String? {
        spend(Self.valueCost + 2 * byteCount)
    }

    /// Reads the next value as a tree, and charges it.
    /// - Throws: what is wrong in it, or that it takes too much.
    package mutating func readValue(_ reader: inout JSONReader) throws(JSONError) -> JSONValue {
        let start = reader.offset
        var rest = left / Self.valueCost
        let value = try reader.readValue(valuesLeft: &rest)
        let count = left / Self.valueCost - rest
        guard rest >= 0, spend(count * Self.valueCost + 2 * (reader.offset - start)) == nil else {
            throw reader.failure(tooLarge)
        }
        return value
    }

    package static func tooMany(_ countMax: Int, isWithDirectories: Bool = false) -> String {
        let what = isWithDirectories ? "entries and directories" : "entries"
        return
            "it has more than \(countMax) \(what), the most that are taken (--max-entries allows more)"
    }

    private mutating func spend(_ byteCount: Int) -> String? {
        left -= byteCount
        return left < 0 ? tooLarge : nil
    }

    private var tooLarge: String {
        "what it lists would take more than "
            + "\(max(Self.byteCountMin, Self.factor * textByteCount)) bytes of memory, "
            + "\(Self.factor) times its size or 16 MiB; list less for each file"
    }
}
