import Delta
import StorageTestSupport
import Zstandard

@testable import HotPush

/// A pack made by a test: right, unless the test changes a part of it.
///
/// Made without the publisher, by the description in docs/origin-format.md.
struct TestPack {
    struct Frame {
        var codec: PackCodec
        var content: [UInt8]
        /// The addresses of its objects, in order.
        var objects: [ObjectID] = []
        /// The addresses of its bases, in order, and their bytes together.
        var bases: [ObjectID] = []
        var prefix: [UInt8] = []
        var bytes: [UInt8]?
        var windowLog = 20

        func encoded() throws -> [UInt8] {
            if let bytes { return bytes }
            if codec == .stored { return content }
            if codec == .delta { return try TestPack.delta(of: content, from: prefix) }
            return try TestPack.encode(content, prefix: prefix, windowLog: windowLog)
        }
    }

    let manifest: Manifest
    let base: Manifest?
    var frames: [Frame] = []
    var changingTable: (inout PackTable) -> Void = { _ in }
    /// Changes the numbers of the table, as they are before they are compressed.
    var changingNumbers: (inout [UInt8]) -> Void = { _ in }
    var tableBytes: [UInt8]?
    var changingBytes: (inout [UInt8]) -> Void = { _ in }

    /// A pack of all objects of a version, or of those that a base is missing, two in a frame.
    ///
    /// - Parameter contents: the bytes of each object; of the base's too.
    init(
        _ manifest: Manifest, from base: Manifest? = nil, contents: [ObjectID: [UInt8]],
        perFrame: Int = 2
    ) throws {
        self.manifest = manifest
        self.base = base
        let bytes = try manifest.serialized()
        var first = Frame(codec: base == nil ? .compressed : .prefixed, content: bytes)
        if let base { first.prefix = base.plainEntries() }
        frames = [first]
        let old = base.map { NumberedObjects(of: $0).references } ?? []
        let lacking = NumberedObjects(of: manifest).references.filter { one in
            !old.contains { $0.address == one.address }
        }
        for start in stride(from: 0, to: lacking.count, by: perFrame) {
            let group = lacking[start..<min(start + perFrame, lacking.count)].map(\.address)
            var frame = Frame(
                codec: .compressed, content: group.flatMap { contents[$0] ?? [] }, objects: group)
            if let first = old.first {
                frame.codec = .prefixed
                frame.bases = [first.address]
                frame.prefix = contents[first.address] ?? []
            }
            frames.append(frame)
        }
    }

    static func encode(
        _ content: [UInt8], prefix: [UInt8] = [], windowLog: Int = 20
    ) throws -> [UInt8] {
        let encoder = try ZstdEncoder()
        return try content.withUnsafeBytes { content in
            try prefix.withUnsafeBytes { prefix in
                try encoder.encode(
                    content, prefix: prefix,
                    .init(level: 3, windowLog: windowLog), limit: .max) ?? []
            }
        }
    }

    /// Corrects the base as far as it goes, and adds the rest.
    static func delta(of content: [UInt8], from base: [UInt8]) throws -> [UInt8] {
        let copied = min(content.count, base.count)
        let step = DeltaStep(
            copyByteCount: copied, literalByteCount: content.count - copied, seek: 0)
        return try content.withUnsafeBytes { content in
            try base.withUnsafeBytes { base in
                try DeltaEncoder.encode(content, base: base, steps: content.isEmpty ? [] : [step])
            }
        }
    }

    /// Makes a delta of each object that has a base.
    mutating func useDeltas() {
        let numbers = NumberedObjects(of: manifest)
        frames = frames.flatMap { frame -> [Frame] in
            guard frame.bases.count == 1 else { return [frame] }
            var rest = frame.content[...]
            return frame.objects.map { object in
                let number = numbers.number(of: object).map { Int($0) } ?? 0
                let content = Array(rest.prefix(Int(numbers.references[number].byteCount)))
                rest = rest.dropFirst(content.count)
                return Frame(
                    codec: .delta, content: content, objects: [object], bases: frame.bases,
                    prefix: frame.prefix)
            }
        }
    }

    /// Changes the bytes of the first frame after the manifest's.
    mutating func changeDelta(_ change: (inout [UInt8]) -> Void) throws {
        var bytes = try frames[1].encoded()
        change(&bytes)
        frames[1].bytes = bytes
    }

    /// Its table, head and frames, and the document's line about it.
    func made() throws -> (bytes: [UInt8], pack: Delivery.Pack) {
        let numbers = NumberedObjects(of: manifest)
        let baseNumbers = base.map { NumberedObjects(of: $0) }
        var table = PackTable()
        var body: [UInt8] = []
        for frame in frames {
            let encoded = try frame.encoded()
            body += encoded
            var row = PackTable.Frame(codec: frame.codec, byteCount: Int64(encoded.count))
            row.bases = frame.bases.map { baseNumbers?.number(of: $0) ?? 0 }
            row.objects = frame.objects.map { numbers.number(of: $0) ?? 0 }
            table.frames.append(row)
        }
        changingTable(&table)
        var text = table.serialized
        changingNumbers(&text)
        let packed = try tableBytes ?? Self.encode(text)
        let head = PackHead(
            tableByteCount: packed.count,
            packByteCount: Int64(PackHead.byteCount + packed.count + body.count))
        var bytes = head.serialized + packed + body
        let opening = PackHead.byteCount + packed.count + (try frames[0].encoded().count)
        changingBytes(&bytes)
        let pack = Delivery.Pack(
            address: try ObjectID(of: bytes), byteCount: Int64(bytes.count),
            openingByteCount: Int64(min(opening, bytes.count)),
            objectCount: Int64(table.objectCount),
            contentByteCount: frames.dropFirst().reduce(0) { $0 + Int64($1.content.count) },
            base: try base?.contentAddress(),
            codecs: Set(frames.map { Int64($0.codec.rawValue) }).sorted(),
            memoryByteCount: 1 << 20)
        return (bytes, pack)
    }
}
