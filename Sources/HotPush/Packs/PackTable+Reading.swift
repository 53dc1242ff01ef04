import CASStore
import Zstandard

// A table comes from strangers: everything about it that can be judged alone is judged here.

extension PackTable {
    /// Decodes and reads a table; its frames have no sizes yet (``measure(manifest:_:from:)``).
    ///
    /// - Parameters:
    ///   - bytes: the table as it is in the pack: one zstd frame.
    ///   - head: the head of the pack.
    ///   - countMax: the most objects that a manifest may name: more are refused before they are kept.
    /// - Throws: `.badPack`.
    init(
        decoding bytes: [UInt8], head: PackHead, countMax: Int, decoder: ZstdDecoder
    ) throws(StoreError) {
        let text: [UInt8]
        do throws(StoreError) {
            text = try Self.decoded(bytes, countMax, decoder)
        } catch {
            throw .badPack("its table: \(error.message)")
        }
        var reader = TableReader(text, countMax: countMax)
        let count = try reader.count()
        guard 1...min(PackLimits.frameCountMax, countMax + 1) ~= count else {
            throw .badPack("it has \(count) frames")
        }
        frames.reserveCapacity(count)
        for position in 0..<count {
            frames.append(try reader.frame(isManifest: position == 0))
        }
        try reader.finish()
        try locate(head)
    }

    private static func decoded(
        _ bytes: [UInt8], _ countMax: Int, _ decoder: ZstdDecoder
    ) throws(StoreError) -> [UInt8] {
        let header = try bytes.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
            try ZstdHeader(of: frame)
        }
        guard
            header.contentByteCount
                <= UInt64(PackLimits.tableContentByteCountMax(ofObjects: countMax)),
            header.windowByteCount <= UInt64(PackLimits.windowByteCountMax)
        else { throw .badPack("it has \(header.contentByteCount) bytes") }
        return try decoder.decode(bytes, byteCount: Int(header.contentByteCount))
    }

    private mutating func locate(_ head: PackHead) throws(StoreError) {
        var offset = head.framesStart
        for position in frames.indices {
            frames[position].offset = offset
            // No sum of numbers below 2^49 overflows before it is beyond the pack.
            offset += frames[position].byteCount
            guard offset <= head.packByteCount else { throw .badPack("it ends inside a frame") }
        }
        guard offset == head.packByteCount else { throw .badPack("it goes on after its frames") }
    }
}

/// Reads the numbers of a table: LEB128, seven bits a byte, the lowest first.
private struct TableReader {
    private let bytes: [UInt8]
    private let countMax: Int
    private var position = 0
    /// One for each object that may be: whether it has come.
    private var seen: [Bool] = []

    init(_ bytes: [UInt8], countMax: Int) {
        self.bytes = bytes
        self.countMax = countMax
    }

    mutating func number() throws(StoreError) -> Int64 {
        var value: Int64 = 0
        for shift in stride(from: Int64(0), to: 49, by: 7) {
            guard position < bytes.count else { throw .badPack("its table is cut off") }
            let byte = bytes[position]
            position += 1
            guard byte != 0 || shift == 0 else {
                throw .badPack("its table has a number that is longer than it need be")
            }
            value |= Int64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .badPack("its table has a number of more than 49 bits")
    }

    /// A count of things that take a byte each at least.
    mutating func count() throws(StoreError) -> Int {
        let count = try number()
        guard count <= Int64(bytes.count - position) else {
            throw .badPack("its table is cut off")
        }
        return Int(count)
    }

    private mutating func numbers() throws(StoreError) -> [UInt32] {
        let count = try count()
        var numbers: [UInt32] = []
        numbers.reserveCapacity(count)
        for _ in 0..<count {
            guard let number = UInt32(exactly: try number()) else {
                throw .badPack("its table has an object's number of more than 32 bits")
            }
            numbers.append(number)
        }
        return numbers
    }

    mutating func frame(isManifest: Bool) throws(StoreError) -> PackTable.Frame {
        let number = try number()
        guard let codec = UInt8(exactly: number).flatMap(PackCodec.init(rawValue:)) else {
            throw .badPack("it has a frame of codec \(number)")
        }
        var frame = PackTable.Frame(codec: codec, byteCount: try self.number())
        guard !isManifest else { return frame }
        if codec == .prefixed {
            frame.bases = try numbers()
            guard 1...PackLimits.baseCountMax ~= frame.bases.count else {
                throw .badPack("a frame has \(frame.bases.count) bases")
            }
        }
        frame.objects = try numbers()
        for number in frame.objects { try note(number) }
        guard !frame.objects.isEmpty else { throw .badPack("a frame has no objects") }
        return frame
    }

    private mutating func note(_ number: UInt32) throws(StoreError) {
        guard number < countMax else { throw .badPack("it names object \(number)") }
        let count = seen.count
        if number >= count {
            seen += repeatElement(false, count: max(Int(number) + 1, 2 * count) - count)
        }
        guard !seen[Int(number)] else { throw .badPack("object \(number) is in it twice") }
        seen[Int(number)] = true
    }

    func finish() throws(StoreError) {
        guard position == bytes.count else { throw .badPack("its table goes on after its end") }
    }
}
