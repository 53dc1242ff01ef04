import Delta
import Platform
import StorageTestSupport

@testable import DeltaSearch

/// Made-up bytecode with the layout of Hermes.
struct HermesFile {
    var version: UInt32 = 96
    /// The sizes of functions and strings; offsets are their sums.
    var functions: [UInt32] = []
    var strings: [UInt32] = []
    var longStrings: [UInt32] = []
    var expressions: [UInt32] = []
    var code: [UInt8] = []

    var bytes: [UInt8] {
        var header = [UInt32](repeating: 0, count: 24)
        header[2] = UInt32(functions.count)
        header[3] = 1
        header[4] = 3
        header[5] = UInt32(strings.count)
        header[6] = UInt32(longStrings.count)
        header[7] = 101
        header[8] = 1
        header[9] = 5
        header[10] = UInt32(expressions.count)
        header[12] = 7
        header[13] = 6
        header[14] = 2
        var bytes =
            Self.bytes([0x03BC_1FC6, 0x1F19_03C1, version]) + [UInt8](repeating: 3, count: 20)
        bytes += Self.bytes(header)
        func section(_ part: [UInt8]) {
            while bytes.count % 4 != 0 { bytes.append(0) }
            bytes += part
        }
        var offset: UInt32 = 1000
        var headers: [UInt32] = []
        for (index, size) in functions.enumerated() {
            headers += [offset | UInt32(index % 4) << 25, size]
            headers += version == 96 ? [offset * 2 & 0x1FF_FFFF, UInt32(index)] : [5]
            offset += size
        }
        section(Self.bytes(headers))
        section(Self.bytes([77]))
        section(Self.bytes([8, 9, 10]))
        section(Self.bytes(Self.sums(strings).map { $0 << 1 & 0xFF_FFFE | 3 << 24 }))
        section(Self.bytes(zip(Self.sums(longStrings), longStrings).flatMap { [$0, $1] }))
        section([UInt8](repeating: 65, count: 101))
        section([UInt8](repeating: 66, count: 7))
        section([UInt8](repeating: 67, count: 6))
        section([UInt8](repeating: 68, count: version == 96 ? 2 : 16))
        section(Self.bytes([0, 5]))
        section([UInt8](repeating: 69, count: 5))
        section(Self.bytes(zip(Self.sums(expressions), expressions).flatMap { [$0, $1] }))
        section(code)
        return bytes
    }

    private static func sums(_ sizes: [UInt32]) -> [UInt32] {
        var sum: UInt32 = 0
        return sizes.map { size in
            defer { sum &+= size }
            return sum
        }
    }

    private static func bytes(_ words: [UInt32]) -> [UInt8] {
        words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }

    init(version: UInt32, seed: UInt64 = 7) {
        self.version = version
        var random = SeededRandom(seed: seed)
        func sizes(_ count: Int) -> [UInt32] {
            (0..<count).map { _ in UInt32(random.next() % 900) }
        }
        functions = sizes(2000)
        strings = sizes(3000)
        longStrings = sizes(40)
        expressions = sizes(30)
        code = random.bytes(50_000)
    }

    /// The same with one more function and one more string.
    var next: HermesFile {
        var next = self
        next.functions.insert(33, at: 100)
        next.strings.insert(12, at: 200)
        next.longStrings[3] += 1
        next.expressions[2] += 5
        return next
    }
}

@Suite("Tables of Hermes bytecode") struct HermesTableTests {
    static func tables(_ content: [UInt8], _ base: [UInt8]) -> [DeltaTable] {
        content.withUnsafeBytes { content in
            base.withUnsafeBytes { base in HermesTables.common(content, base) }
        }
    }

    @Test(arguments: [96, 98] as [UInt32])
    func `are where the header says`(_ version: UInt32) {
        let file = HermesFile(version: version)
        let tables = Self.tables(file.next.bytes, file.bytes)
        let stride = version == 96 ? 16 : 12
        expect(tables.map(\.stride) == [stride, 4, 8, 8])
        expect(tables.map(\.base.entryCount) == [2000, 3000, 40, 30])
        expect(tables.map(\.content.entryCount) == [2001, 3001, 40, 30])
        let strings = 128 + 2000 * stride + 4 + 12
        expect(tables.prefix(3).map(\.base.start) == [128, strings, strings + 12_000])
    }

    @Test(arguments: [96, 98] as [UInt32])
    func `hardly change with one more function and one more string`(_ version: UInt32) throws {
        let file = HermesFile(version: version)
        let (base, content) = (file.bytes, file.next.bytes)
        let frame = try require(try DeltaMakingTests.frame(of: content, from: base))
        expect(frame.count < 250, "\(frame.count)")
        let header = try frame.withUnsafeBytes { try DeltaHeader(of: $0) }
        expect(!header.tables.isEmpty)
    }

    @Test func `of files that are damaged, unknown or of two versions are none`() throws {
        let (old, new) = (HermesFile(version: 96), HermesFile(version: 98))
        expect(Self.tables(old.bytes, new.bytes).isEmpty)
        expect(Self.tables(HermesFile(version: 97).bytes, HermesFile(version: 97).bytes).isEmpty)
        expect(Self.tables(old.bytes, Array(old.bytes.prefix(127))).isEmpty)
        expect(Self.tables(old.bytes, Array(old.bytes.prefix(30_000))).isEmpty)
        expect(Self.tables([], []).isEmpty)
        var huge = old.bytes
        for place in 32..<128 { huge[place] = 0xFF }
        expect(Self.tables(huge, old.bytes).isEmpty)
    }

    @Test func `of damaged files harm nothing`() throws {
        var random = SeededRandom()
        for version in [96, 98] as [UInt32] {
            let base = HermesFile(version: version).bytes
            for _ in 0..<4 {
                var content = HermesFile(version: version).next.bytes
                for _ in 0..<4 {
                    content[Int.random(in: 8..<128, using: &random)] =
                        UInt8(truncatingIfNeeded: random.next())
                }
                expect(try DeltaMakingTests.frame(of: content, from: base) != nil)
            }
        }
    }

    @Test func `too large for a device's memory are left out`() {
        var file = HermesFile(version: 96)
        file.functions = [UInt32](repeating: 9, count: 200_000)
        let tables = Self.tables(file.bytes, file.bytes)
        expect(tables.map(\.stride) == [4, 8, 8])
    }
}
