package import Platform

/// The head of a frame of codec 3, which tells what decoding it will cost.
package struct DeltaHeader: Sendable, Hashable {
    static let version: UInt8 = 1
    private static let hasTables: UInt8 = 1
    /// The largest number in a head, far above every limit and far below what could overflow.
    private static let numberMax = 1 << 27

    /// How many bytes are decoded bit by bit.
    package let modelledByteCount: Int
    package let tables: [DeltaTable]
    /// The larger, the more can be learnt of literals: 0 to 3.
    let literalScale: Int
    /// Where the range-coded body begins.
    let byteCount: Int

    init(modelledByteCount: Int, literalScale: Int, tables: [DeltaTable]) {
        self.modelledByteCount = modelledByteCount
        self.literalScale = literalScale
        self.tables = tables
        byteCount = 0
    }

    /// - Throws: `.badFrame` with what is wrong, above all if decoding would take more than ``DeltaLimits`` allow.
    package init(of frame: UnsafeRawBufferPointer) throws(StoreError) {
        guard frame.count >= 3 else { throw .badFrame("it is cut off") }
        guard frame[0] == Self.version else { throw .badFrame("it is of version \(frame[0])") }
        let flags = frame[1]
        guard flags & 0b1111_1000 == 0 else { throw .badFrame("it uses what is reserved") }
        literalScale = Int(flags >> 1)
        var place = 2
        modelledByteCount = try Self.number(frame, &place)
        guard modelledByteCount <= DeltaLimits.modelledByteCountMax else {
            throw .badFrame("it models \(modelledByteCount) bytes")
        }
        tables = flags & Self.hasTables == 0 ? [] : try Self.tables(frame, &place)
        byteCount = place
        guard memoryByteCount <= DeltaLimits.memoryByteCountMax else {
            throw .badFrame("it needs \(memoryByteCount) bytes of memory")
        }
    }

    /// The memory that decoding takes besides base, content and frame, in bytes.
    package var memoryByteCount: Int {
        CorrectionModel.byteCount(modelledByteCount: modelledByteCount)
            + LiteralModel.byteCount(scale: literalScale) + NumberModels.byteCount
            + BaseView.chunkByteCount + tableByteCount
    }

    /// The memory for the differences in place of the base's tables.
    var tableByteCount: Int { tables.reduce(0) { $0 + $1.baseByteCount } }

    private static func number(
        _ frame: UnsafeRawBufferPointer, _ place: inout Int
    ) throws(StoreError) -> Int {
        var value = 0
        var shift = 0
        while true {
            guard place < frame.count else { throw .badFrame("it is cut off") }
            let byte = frame[place]
            place += 1
            value |= Int(byte & 0x7F) << shift
            shift += 7
            if byte & 0x80 == 0 {
                guard byte != 0 || shift == 7 else { throw .badFrame("a number is too long") }
                break
            }
            guard shift < 28 else { throw .badFrame("a number is too large") }
        }
        guard value <= numberMax else { throw .badFrame("a number is too large") }
        return value
    }

    private static func tables(
        _ frame: UnsafeRawBufferPointer, _ place: inout Int
    ) throws(StoreError) -> [DeltaTable] {
        let count = try number(frame, &place)
        guard (1...DeltaLimits.tableCountMax).contains(count) else {
            throw .badFrame("it has \(count) tables")
        }
        var tables: [DeltaTable] = []
        var baseEnd = 0
        var contentEnd = 0
        for _ in 0..<count {
            let stride = try number(frame, &place)
            let fieldCount = try number(frame, &place)
            guard (1...DeltaLimits.fieldCountMax).contains(fieldCount) else {
                throw .badFrame("a table has \(fieldCount) fields")
            }
            var fields: [DeltaTable.Field] = []
            for _ in 0..<fieldCount {
                fields.append(
                    DeltaTable.Field(
                        byte: try number(frame, &place), bit: try number(frame, &place),
                        bitCount: try number(frame, &place)))
            }
            let base = try range(frame, &place, after: baseEnd)
            let content = try range(frame, &place, after: contentEnd)
            let table = DeltaTable(stride: stride, fields: fields, base: base, content: content)
            guard table.isSound else { throw .badFrame("a table has impossible fields") }
            tables.append(table)
            baseEnd = base.start + table.baseByteCount
            contentEnd = content.start + table.contentByteCount
            guard max(baseEnd, contentEnd) <= numberMax else {
                throw .badFrame("a table is too large")
            }
        }
        return tables
    }

    private static func range(
        _ frame: UnsafeRawBufferPointer, _ place: inout Int, after end: Int
    ) throws(StoreError) -> DeltaTable.Range {
        DeltaTable.Range(
            start: end + (try number(frame, &place)), entryCount: try number(frame, &place))
    }
}

// MARK: writing

extension DeltaHeader {
    var bytes: [UInt8] {
        let flags = UInt8(literalScale << 1) | (tables.isEmpty ? 0 : Self.hasTables)
        var bytes = [Self.version, flags]
        Self.append(modelledByteCount, to: &bytes)
        if tables.isEmpty { return bytes }
        Self.append(tables.count, to: &bytes)
        var baseEnd = 0
        var contentEnd = 0
        for table in tables {
            Self.append(table.stride, to: &bytes)
            Self.append(table.fields.count, to: &bytes)
            for field in table.fields {
                Self.append(field.byte, to: &bytes)
                Self.append(field.bit, to: &bytes)
                Self.append(field.bitCount, to: &bytes)
            }
            Self.append(table.base.start - baseEnd, to: &bytes)
            Self.append(table.base.entryCount, to: &bytes)
            Self.append(table.content.start - contentEnd, to: &bytes)
            Self.append(table.content.entryCount, to: &bytes)
            baseEnd = table.base.start + table.baseByteCount
            contentEnd = table.content.start + table.contentByteCount
        }
        return bytes
    }

    private static func append(_ number: Int, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(rest & 0x7F) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
