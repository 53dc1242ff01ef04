package import CASStore
package import Zstandard

/// How the bytes of a frame give its content.
package enum PackCodec: UInt8, Sendable, Hashable, CaseIterable {
    /// They are the content.
    case stored = 0
    /// They are a zstd frame.
    case compressed = 1
    /// They are a zstd frame whose prefix is the frame's concatenated bases.
    case prefixed = 2
    /// They are a delta from one base to one object.
    case delta = 3

    /// Whether the content comes out of the frame only together with bases.
    package var hasBases: Bool { self == .prefixed || self == .delta }
}

/// The frames of a pack, and the objects in each.
///
/// The first frame is the manifest, whose objects are numbered. Bases are numbered in another content, which the
/// delivery names (`from`). The table has no sizes: they come from the manifest, so that no pack can promise others.
package struct PackTable: Sendable, Hashable {
    /// A part of the pack that is decoded as one.
    package struct Frame: Sendable, Hashable {
        package var codec: PackCodec
        package var byteCount: Int64
        /// The numbers of the objects used as its prefix.
        package var bases: [UInt32] = []
        /// The numbers of the decoded objects, in order.
        package var objects: [UInt32] = []
        package var offset: Int64 = 0
        /// Set by ``PackTable/measure(manifest:_:from:)``.
        package var contentByteCount: Int64 = 0

        package init(codec: PackCodec, byteCount: Int64) {
            self.codec = codec
            self.byteCount = byteCount
        }

        package var end: Int64 { offset + byteCount }
    }

    /// In the order of the pack; the first is the manifest's.
    package var frames: [Frame] = []

    package init() {}

    /// Excludes the manifest.
    package var contentByteCount: Int64 {
        frames.dropFirst().reduce(0) { $0.addingClamped($1.contentByteCount) }
    }

    package var objectCount: Int { frames.reduce(0) { $0 + $1.objects.count } }

    /// Gives each frame its size, and checks what depends on sizes.
    /// - Parameters:
    ///   - manifest: the size of the manifest.
    ///   - bases: those of the content from which the pack leads, if any.
    /// - Throws: `.badPack` for a number that no object has, or a frame beyond its bounds.
    package mutating func measure(
        manifest byteCount: Int64, _ objects: NumberedObjects, from bases: NumberedObjects?
    ) throws(StoreError) {
        try size(manifest: byteCount, objects)
        for position in frames.indices { try judge(position, from: bases) }
    }

    /// Gives each frame its size, without judging anything else.
    /// - Throws: `.badPack` for a number that no object has.
    package mutating func size(
        manifest byteCount: Int64, _ objects: NumberedObjects
    ) throws(StoreError) {
        for position in frames.indices {
            var content = position == 0 ? byteCount : 0
            for number in frames[position].objects {
                guard Int(number) < objects.count else {
                    throw .badPack("it names object \(number) of \(objects.count)")
                }
                content = content.addingClamped(objects.references[Int(number)].byteCount)
            }
            frames[position].contentByteCount = content
        }
    }

    private func judge(_ position: Int, from objects: NumberedObjects?) throws(StoreError) {
        let frame = frames[position]
        let content = frame.contentByteCount
        guard frame.byteCount <= PackLimits.frameByteCountMax(ofContent: content) else {
            throw .badPack("frame \(position) is larger than its content")
        }
        guard frame.codec != .stored || frame.byteCount == content else {
            throw .badPack("frame \(position) does not consist of its objects")
        }
        guard frame.codec.hasBases else { return }
        if frame.codec == .delta {
            guard position > 0, frame.bases.count == 1, frame.objects.count == 1 else {
                throw .badPack("frame \(position) is a delta, but not of one object from one base")
            }
        }
        let contentMax =
            position == 0 ? PackLimits.prefixedManifestByteCountMax : PackLimits.baseByteCountMax
        guard content <= contentMax else {
            throw .badPack("frame \(position) is too large for a prefix")
        }
        guard let objects else { throw .badPack("it has bases and leads from nothing") }
        var sum: Int64 = 0
        for base in frame.bases {
            guard Int(base) < objects.count else {
                throw .badPack("it names base \(base) of \(objects.count)")
            }
            sum = sum.addingClamped(objects.references[Int(base)].byteCount)
        }
        let limit =
            frame.bases.count == 1
            ? PackLimits.baseByteCountMax : PackLimits.jointBaseByteCountMax
        guard sum <= limit else { throw .badPack("the bases of a frame have \(sum) bytes") }
    }

    /// Decodes and reads a table; its frames have no sizes yet (``measure(manifest:_:from:)``).
    /// - Parameters:
    ///   - bytes: the table as it is in the pack: one zstd frame.
    ///   - countMax: the most objects that a manifest may name; more are refused before they take memory.
    /// - Throws: `.badPack`.
    package init(
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
            // Every number is below 2^49, so the sum exceeds the pack long before it overflows.
            offset += frames[position].byteCount
            guard offset <= head.packByteCount else { throw .badPack("it ends inside a frame") }
        }
        guard offset == head.packByteCount else { throw .badPack("it continues after its frames") }
    }
}

/// Reads the numbers of a table: LEB128, seven bits a byte, the lowest first.
private struct TableReader {
    private let bytes: [UInt8]
    private let countMax: Int
    private var position = 0
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

    /// The count of elements that take at least one byte each.
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
        if codec.hasBases {
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
        guard position == bytes.count else { throw .badPack("its table continues after its end") }
    }
}

extension PackTable {
    /// The uncompressed numbers.
    package var serialized: [UInt8] {
        var bytes: [UInt8] = []
        Self.append(Int64(frames.count), to: &bytes)
        for (position, frame) in frames.enumerated() {
            Self.append(Int64(frame.codec.rawValue), to: &bytes)
            Self.append(frame.byteCount, to: &bytes)
            guard position > 0 else { continue }
            if frame.codec.hasBases { Self.append(frame.bases, to: &bytes) }
            Self.append(frame.objects, to: &bytes)
        }
        return bytes
    }

    private static func append(_ numbers: [UInt32], to bytes: inout [UInt8]) {
        append(Int64(numbers.count), to: &bytes)
        for number in numbers { append(Int64(number), to: &bytes) }
    }

    private static func append(_ number: Int64, to bytes: inout [UInt8]) {
        var rest = UInt64(number)
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}
