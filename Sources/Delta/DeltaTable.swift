/// A table of records that base and content have, whose fields grow from record to record, as offsets do.
///
/// One byte more shifts all offsets that follow. So a frame encodes the differences between neighbours instead.
package struct DeltaTable: Sendable, Hashable {
    /// An unsigned number in a record: little-endian, at most 32 bits.
    package struct Field: Sendable, Hashable {
        /// Where in the record its lowest bit is.
        package var byte: Int
        package var bit: Int
        package var bitCount: Int

        package init(byte: Int, bit: Int, bitCount: Int) {
            self.byte = byte
            self.bit = bit
            self.bitCount = bitCount
        }
    }

    /// Where a table is.
    package struct Range: Sendable, Hashable {
        package var start: Int
        package var entryCount: Int

        package init(start: Int, entryCount: Int) {
            self.start = start
            self.entryCount = entryCount
        }
    }

    /// The size of a record in bytes.
    package var stride: Int
    /// The lowest first.
    package var fields: [Field]
    package var base: Range
    package var content: Range

    package init(stride: Int, fields: [Field], base: Range, content: Range) {
        self.stride = stride
        self.fields = fields
        self.base = base
        self.content = content
    }

    package var baseByteCount: Int { base.entryCount * stride }
    package var contentByteCount: Int { content.entryCount * stride }

    /// Whether every field lies within the record, past the one before.
    var isSound: Bool {
        var end = 0
        for field in fields {
            guard (0..<DeltaLimits.strideMax).contains(field.byte), (0..<8).contains(field.bit),
                (1...32).contains(field.bitCount), field.bit + field.bitCount <= 32,
                field.byte * 8 + field.bit >= end
            else { return false }
            end = field.byte * 8 + field.bit + field.bitCount
        }
        return (1...DeltaLimits.strideMax).contains(stride) && end <= stride * 8
            && (1...DeltaLimits.fieldCountMax).contains(fields.count)
    }

    /// Replaces every field by its difference to the record before.
    /// - Parameter table: the records, whole ones only.
    package func takeDifferences(in table: UnsafeMutableRawBufferPointer) {
        var last = table.count - stride
        while last >= stride {
            for field in fields {
                let before = Self.load(field, table, last - stride)
                Self.store(Self.load(field, table, last) &- before, field, table, last)
            }
            last -= stride
        }
    }

    /// Undoes ``takeDifferences(in:)``.
    package func sumUp(in table: UnsafeMutableRawBufferPointer) {
        var next = stride
        while next + stride <= table.count {
            for field in fields {
                let before = Self.load(field, table, next - stride)
                Self.store(Self.load(field, table, next) &+ before, field, table, next)
            }
            next += stride
        }
    }

    private static func load(
        _ field: Field, _ table: UnsafeMutableRawBufferPointer, _ record: Int
    ) -> UInt32 {
        var word: UInt32 = 0
        for index in (0..<field.byteCount).reversed() {
            word = word << 8 | UInt32(table[record + field.byte + index])
        }
        return word >> UInt32(field.bit) & field.mask
    }

    private static func store(
        _ value: UInt32, _ field: Field, _ table: UnsafeMutableRawBufferPointer, _ record: Int
    ) {
        let mask = field.mask << UInt32(field.bit)
        let word = (value & field.mask) << UInt32(field.bit)
        for index in 0..<field.byteCount {
            let shift = UInt32(index * 8)
            let position = record + field.byte + index
            let kept = table[position] & ~UInt8(truncatingIfNeeded: mask >> shift)
            table[position] = kept | UInt8(truncatingIfNeeded: word >> shift)
        }
    }
}

extension DeltaTable.Field {
    /// How many bytes it has bits in.
    fileprivate var byteCount: Int { (bit + bitCount + 7) / 8 }
    fileprivate var mask: UInt32 { UInt32.max >> UInt32(32 - bitCount) }
}

extension [DeltaTable] {
    /// - Returns: content with the differences in place of the tables.
    package func transformed(
        _ bytes: UnsafeRawBufferPointer, _ range: KeyPath<DeltaTable, DeltaTable.Range>
    ) -> [UInt8] {
        var result = [UInt8](bytes)
        result.withUnsafeMutableBytes { result in
            for table in self {
                let range = table[keyPath: range]
                let end = range.start + range.entryCount * table.stride
                table.takeDifferences(in: .init(rebasing: result[range.start..<end]))
            }
        }
        return result
    }

    /// Whether all are sound and lie in order within objects of these sizes, none over another.
    package func fit(baseByteCount: Int, contentByteCount: Int) -> Bool {
        var baseEnd = 0
        var contentEnd = 0
        for table in self {
            guard table.isSound, table.base.start >= baseEnd, table.content.start >= contentEnd,
                table.base.entryCount >= 0, table.content.entryCount >= 0
            else { return false }
            baseEnd = table.base.start + table.baseByteCount
            contentEnd = table.content.start + table.contentByteCount
            guard baseEnd <= baseByteCount, contentEnd <= contentByteCount else { return false }
        }
        return true
    }
}
