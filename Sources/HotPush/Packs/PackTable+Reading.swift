import CASStore
import Zstandard

// A table comes from strangers: everything about it that can be judged alone is judged here.

extension PackTable {
    /// Decodes and reads a table.
    ///
    /// - Parameters:
    ///   - bytes: the table as it is in the pack: one zstd frame.
    ///   - head: the head of the pack.
    ///   - manifestByteCount: the size of the manifest that the first frame must give.
    /// - Throws: `.badPack`.
    init(
        decoding bytes: [UInt8], head: PackHead, manifestByteCount: Int64, decoder: ZstdDecoder
    ) throws(StoreError) {
        let text: [UInt8]
        do throws(StoreError) {
            text = try Self.decoded(bytes, decoder)
        } catch {
            throw .badPack("its table: \(error.message)")
        }
        var reader = TableReader(text)
        try self.init(reading: &reader)
        try locate(head)
        try judgeManifest(manifestByteCount)
        try judgeFrames()
    }

    private static func decoded(
        _ bytes: [UInt8], _ decoder: ZstdDecoder
    ) throws(StoreError) -> [UInt8] {
        let header = try bytes.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
            try ZstdHeader(of: frame)
        }
        guard header.contentByteCount <= UInt64(PackLimits.tableContentByteCountMax),
            header.windowByteCount <= UInt64(PackLimits.windowByteCountMax)
        else { throw .badPack("it has \(header.contentByteCount) bytes") }
        return try decoder.decode(bytes, byteCount: Int(header.contentByteCount))
    }

    private init(reading reader: inout TableReader) throws(StoreError) {
        let baseCount = try reader.count()
        bases.reserveCapacity(baseCount)
        for _ in 0..<baseCount { bases.append(try reader.number32()) }
        let frameCount = try reader.count()
        guard 1...PackLimits.frameCountMax ~= frameCount else {
            throw .badPack("it has \(frameCount) frames")
        }
        frames.reserveCapacity(frameCount)
        for _ in 0..<frameCount { frames.append(try reader.frame(baseCount: baseCount)) }
        let entryCount = try reader.count()
        entries.reserveCapacity(entryCount)
        var last = 0
        for position in 0..<entryCount {
            let number = try reader.number32()
            let frame = try reader.number()
            // In their order inside the frames; the manifest's frame has none.
            guard frame < Int64(frameCount), frame >= max(1, Int64(last)) else {
                throw .badPack("its objects are not in the order of its frames")
            }
            if Int(frame) != last { frames[Int(frame)].entries = position..<position }
            last = Int(frame)
            frames[last].entries = frames[last].entries.lowerBound..<position + 1
            entries.append(Entry(number: number, byteCount: try reader.number()))
        }
        try reader.finish()
    }

    private mutating func locate(_ head: PackHead) throws(StoreError) {
        var offset = head.framesStart
        for position in frames.indices {
            frames[position].offset = offset
            // No sum of numbers below 2^53 of a million frames overflows.
            offset += frames[position].byteCount
            guard offset <= head.packByteCount else { throw .badPack("it ends inside a frame") }
        }
        guard offset == head.packByteCount else { throw .badPack("it goes on after its frames") }
    }

    private func judgeManifest(_ byteCount: Int64) throws(StoreError) {
        let frame = frames[0]
        guard frame.contentByteCount == byteCount, frame.bases.isEmpty else {
            throw .badPack("its first frame is not the release's manifest")
        }
        guard frame.codec != .prefixed || byteCount <= PackLimits.prefixedManifestByteCountMax
        else { throw .badPack("its manifest is too large for a prefix") }
    }

    private func judgeFrames() throws(StoreError) {
        var seen: Set<UInt32> = []
        for (position, frame) in frames.enumerated() {
            guard frame.byteCount <= PackLimits.frameByteCountMax(ofContent: frame.contentByteCount)
            else { throw .badPack("frame \(position) is larger than its content") }
            guard frame.codec != .stored || frame.byteCount == frame.contentByteCount else {
                throw .badPack("frame \(position) gives less than it has")
            }
            guard position > 0 else { continue }
            guard (frame.codec == .prefixed) == !frame.bases.isEmpty,
                frame.bases.count <= PackLimits.baseCountMax
            else { throw .badPack("frame \(position) has \(frame.bases.count) bases") }
            guard frame.codec != .prefixed || frame.contentByteCount <= PackLimits.baseByteCountMax
            else { throw .badPack("frame \(position) is too large for a prefix") }
            var sum: Int64 = 0
            for entry in entries[frame.entries] {
                guard seen.insert(entry.number).inserted else {
                    throw .badPack("object \(entry.number) is in it twice")
                }
                sum += entry.byteCount
                guard sum <= frame.contentByteCount else { break }
            }
            guard sum == frame.contentByteCount, !frame.entries.isEmpty else {
                throw .badPack("frame \(position) does not consist of its objects")
            }
        }
    }
}

/// Reads the numbers of a table: LEB128, seven bits a byte, the lowest first.
private struct TableReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func number() throws(StoreError) -> Int64 {
        var value: Int64 = 0
        for shift in stride(from: Int64(0), to: 49, by: 7) {
            guard position < bytes.count else { throw .badPack("its table is cut off") }
            let byte = bytes[position]
            position += 1
            value |= Int64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        throw .badPack("its table has a number of more than 49 bits")
    }

    mutating func number32() throws(StoreError) -> UInt32 {
        guard let number = UInt32(exactly: try number()) else {
            throw .badPack("its table has an object's number of more than 32 bits")
        }
        return number
    }

    /// A count of things that take a byte each at least.
    mutating func count() throws(StoreError) -> Int {
        let count = try number()
        guard count <= Int64(bytes.count - position) else {
            throw .badPack("its table is cut off")
        }
        return Int(count)
    }

    mutating func frame(baseCount: Int) throws(StoreError) -> PackTable.Frame {
        let number = try number()
        guard let codec = UInt8(exactly: number).flatMap(PackCodec.init(rawValue:)) else {
            throw .badPack("it has a frame of codec \(number)")
        }
        var frame = PackTable.Frame(
            codec: codec, byteCount: try self.number(), contentByteCount: try self.number())
        let count = try count()
        guard count <= PackLimits.baseCountMax else {
            throw .badPack("a frame has \(count) bases")
        }
        for _ in 0..<count {
            let base = try self.number()
            guard base < Int64(baseCount) else { throw .badPack("a frame has an unknown base") }
            frame.bases.append(Int(base))
        }
        return frame
    }

    func finish() throws(StoreError) {
        guard position == bytes.count else { throw .badPack("its table goes on after its end") }
    }
}
