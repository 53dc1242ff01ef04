import Platform
import StorageTestSupport

@testable import Delta

@Suite("Tables in deltas") struct DeltaTableTests {
    /// A sound table of random fields.
    private func table(_ random: inout SeededRandom, entries: Int) -> DeltaTable {
        while true {
            let stride = Int.random(in: 1...DeltaLimits.strideMax, using: &random)
            let fields = (0..<Int.random(in: 1...DeltaLimits.fieldCountMax, using: &random)).map {
                _ in
                DeltaTable.Field(
                    byte: .random(in: 0..<stride, using: &random),
                    bit: .random(in: 0..<8, using: &random),
                    bitCount: .random(in: 1...32, using: &random))
            }
            let range = DeltaTable.Range(start: 0, entryCount: entries)
            let table = DeltaTable(
                stride: stride, fields: fields.sorted { $0.byte < $1.byte }, base: range,
                content: range)
            if table.isSound { return table }
        }
    }

    @Test func `come back from their differences, whatever is in them`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let entryCount = Int.random(in: 0...40, using: &random)
            let table = table(&random, entries: entryCount)
            let original = random.bytes(entryCount * table.stride)
            var bytes = original
            bytes.withUnsafeMutableBytes { table.takeDifferences(in: $0) }
            bytes.withUnsafeMutableBytes { table.sumUp(in: $0) }
            expect(bytes == original, "\(table)")
        }
    }

    @Test func `of offsets become what lies between them`() {
        let offsets: [UInt32] = [7, 107, 307, 300, 0x1FF_FFFF]
        var bytes = offsets.flatMap { offset in
            (0..<4).map { UInt8(truncatingIfNeeded: (offset | 0xAA << 25) >> (8 * UInt32($0))) }
        }
        let range = DeltaTable.Range(start: 0, entryCount: 5)
        let table = DeltaTable(
            stride: 4, fields: [DeltaTable.Field(byte: 0, bit: 0, bitCount: 25)], base: range,
            content: range)
        bytes.withUnsafeMutableBytes { table.takeDifferences(in: $0) }
        let words = stride(from: 0, to: 20, by: 4).map { start in
            (0..<4).reduce(0) { $0 | UInt32(bytes[start + $1]) << (8 * UInt32($1)) }
        }
        expect(words.map { $0 >> 25 } == [UInt32](repeating: 0xAA & 0x7F, count: 5))
        expect(words.map { $0 & 0x1FF_FFFF } == [7, 100, 200, 0x1FF_FFF9, 0x1FF_FFFF - 300])
    }

    @Test func `are copied, corrected and looked at as they were encoded`() throws {
        var random = SeededRandom(seed: 9)
        let base = random.bytes(9000)
        var content = base
        for _ in 0..<60 { content[Int.random(in: 0..<9000, using: &random)] &+= 3 }
        let tables = [
            DeltaTable(
                stride: 16,
                fields: [
                    .init(byte: 0, bit: 0, bitCount: 25), .init(byte: 8, bit: 3, bitCount: 20),
                ],
                base: .init(start: 5, entryCount: 100), content: .init(start: 5, entryCount: 99)),
            DeltaTable(
                stride: 4, fields: [.init(byte: 0, bit: 1, bitCount: 23)],
                base: .init(start: 3000, entryCount: 1500),
                content: .init(start: 2996, entryCount: 1500)),
        ]
        let oldBytes = base.withUnsafeBytes { tables.transformed($0, \.base) }
        let newBytes = content.withUnsafeBytes { tables.transformed($0, \.content) }
        let sample = DeltaSample(
            "tables", base: oldBytes, content: newBytes,
            [(2000, 50, 50), (4000, 0, -6050), (1000, 0, 6050), (1850, 100, 0)]
        )
        let frame = try sample.encoded(tables)
        expect(try DeltaDecoder.decode(frame, base: base, byteCount: content.count) == content)
        let header = try frame.withUnsafeBytes { try DeltaHeader(of: $0) }
        expect(header.tables == tables)
    }
}
