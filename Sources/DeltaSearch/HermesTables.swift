internal import Delta

/// Where Hermes bytecode has tables of offsets, in which one byte more shifts all that follow.
///
/// Read from the header of the file (hermes/BCGen/HBC/BytecodeFileFormat.h), versions 96 and 98. Wrong tables would cost
/// bytes, and nothing else.
struct HermesTables {
    private static let magic: UInt64 = 0x1F19_03C1_03BC_1FC6
    private static let headerByteCount = 128
    /// So much of a base a decoder may have to copy.
    private static let baseByteCountMax = 2 << 20

    /// What the tables of a file are like, and where they are.
    private struct Table {
        var stride: Int
        var fields: [DeltaTable.Field]
        var range: DeltaTable.Range
    }

    /// Whether bytes are Hermes bytecode of any version.
    static func isHermes(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count >= headerByteCount
            && UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)) == magic
    }

    /// The tables that both have, in order; none if one is no bytecode of a known version, or damaged.
    static func common(
        _ content: UnsafeRawBufferPointer, _ base: UnsafeRawBufferPointer
    ) -> [DeltaTable] {
        guard let new = tables(of: content), let old = tables(of: base),
            version(of: content) == version(of: base)
        else { return [] }
        var result: [DeltaTable] = []
        var baseByteCount = 0
        for (new, old) in zip(new, old) {
            guard new.range.entryCount > 1, old.range.entryCount > 1,
                baseByteCount + old.range.entryCount * old.stride <= baseByteCountMax
            else { continue }
            baseByteCount += old.range.entryCount * old.stride
            result.append(
                DeltaTable(
                    stride: new.stride, fields: new.fields, base: old.range, content: new.range))
        }
        return result
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, at place: Int) -> Int {
        Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
    }

    private static func version(of bytes: UnsafeRawBufferPointer) -> Int { number(bytes, at: 8) }

    /// - Returns: `nil` if there is none, or not wholly within the file.
    private static func tables(of bytes: UnsafeRawBufferPointer) -> [Table]? {
        guard isHermes(bytes) else { return nil }
        // Numbers of 32 bits: no sum of their multiples overflows.
        func field(_ index: Int) -> Int { number(bytes, at: 32 + 4 * index) }
        var end = headerByteCount
        var tables: [Table] = []
        func section(_ count: Int, _ stride: Int, _ fields: DeltaTable.Field...) {
            let start = (end + 3) & ~3
            end = start + count * stride
            if fields.isEmpty { return }
            tables.append(
                Table(
                    stride: stride, fields: fields,
                    range: DeltaTable.Range(start: start, entryCount: count)))
        }
        func offset(_ byte: Int, bit: Int = 0, _ bitCount: Int) -> DeltaTable.Field {
            DeltaTable.Field(byte: byte, bit: bit, bitCount: bitCount)
        }
        let hasNewHeaders: Bool
        switch version(of: bytes) {
        case 96: hasNewHeaders = false
        case 98: hasNewHeaders = true
        default: return nil
        }
        // Function headers, kinds of strings, hashes of identifiers, short and long strings, their characters.
        if hasNewHeaders {
            section(field(2), 12, offset(0, 25))
        } else {
            section(field(2), 16, offset(0, 25), offset(8, 25))
        }
        section(field(3), 4)
        section(field(4), 4)
        section(field(5), 4, offset(0, bit: 1, 23))
        section(field(6), 8, offset(0, 32))
        section(field(7), 1)
        // Literals: of arrays, keys and values of objects; since 98 of all, keys, shapes.
        section(field(12), 1)
        section(field(13), 1)
        section(field(14), hasNewHeaders ? 8 : 1)
        // Big integers and their bytes, then regular expressions.
        section(field(8), 8)
        section(field(9), 1)
        section(field(10), 8, offset(0, 32))
        return end <= bytes.count ? tables : nil
    }
}
