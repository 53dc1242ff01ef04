import CASStore
import VersionTree
import Zstandard

@testable import HotPush

// What comes of packs: deliveries, heads and tables, and frames with and without a prefix.

extension FuzzTarget {
    private static let manifest = try? Manifest(
        version: VersionName("1"), ordinal: 1, createdAt: 1,
        entries: ["a", "b", "c"].enumerated().map { position, name in
            Manifest.Entry(
                path: try TreePath(name), address: try ObjectID(of: Array(name.utf8)),
                byteCount: Int64(position * 1000))
        })

    private static let published = manifest.flatMap { manifest in
        try? PublishedVersion(
            name: manifest.version, manifest: ObjectID(of: manifest.serialized()),
            manifestByteCount: Int64(manifest.serialized().count),
            content: manifest.contentAddress())
    }

    static let deliveries = FuzzTarget(
        name: "deliveries",
        words: [
            "{\"castreeDelivery\":1,", "\"manifest\":\"", "\"packs\":[", "\"address\":\"",
            "\"bytes\":",
            "\"codecs\":[0,1,2,3]", "\"content\":", "\"from\":[\"", "\"memory\":", "\"objects\":",
            "\"toc\":", String(repeating: "0", count: 64), "9007199254740991", "4294967297",
        ]
    ) { input in
        guard var version = published else { throw Complaint(description: "no manifest") }
        // Whatever manifest a sample is of.
        let digits = input.split(separator: UInt8(ascii: "\"")).compactMap { text in
            ObjectID(String(decoding: text, as: UTF8.self))
        }
        for address in [version.manifest] + digits.prefix(4) {
            version.manifest = address
            let read = try unlessRefused(as: [.badPack]) {
                try Delivery(parsing: input, of: version)
            }
            guard let delivery = read else { continue }
            for pack in delivery.packs {
                try hold(
                    Int64(PackHead.byteCount)...pack.byteCount ~= pack.openingByteCount,
                    "an opening of \(pack.openingByteCount) of \(pack.byteCount) bytes")
            }
            let again = try Delivery(parsing: delivery.serialized(), of: version)
            try hold(again == delivery, "another delivery when it is written and read")
            // No figure of a stranger may overflow a sum.
            _ = DeliveryChoice(delivery, of: version) { _ in true }.packs
        }
    }

    /// The input is the text of a table, which a pack has compressed.
    static let packTables = FuzzTarget(
        name: "packTables", words: ["\u{1}", "\u{0}", "\u{2}", "\u{3}", "\u{7F}"]
    ) { input in
        guard let manifest else { throw Complaint(description: "no manifest") }
        let objects = NumberedObjects(of: manifest)
        let encoder = try ZstdEncoder()
        let packed = try input.withUnsafeBytes {
            try encoder.encode(
                $0, prefix: UnsafeRawBufferPointer(start: nil, count: 0),
                .init(level: 1, windowLog: 17), limit: .max) ?? []
        }
        // The size that the frames add up to is not known: all that may be are tried.
        for byteCount: Int64 in [100, 1000, 1 << 20] {
            let head = PackHead(
                tableByteCount: packed.count,
                packByteCount: byteCount + Int64(PackHead.byteCount + packed.count))
            let read = try unlessRefused(as: [.badPack]) {
                try PackTable(decoding: packed, head: head, countMax: 1000, decoder: ZstdDecoder())
            }
            guard let read else { continue }
            try hold(read.serialized == input, "another table when it is written")
            let measured = try unlessRefused(as: [.badPack]) {
                var table = read
                try table.measure(manifest: 500, objects, from: objects)
                return table
            }
            guard let measured else { continue }
            try hold(measured.frames.last?.end == head.packByteCount, "an end elsewhere")
            try hold(measured.objectCount <= objects.count, "more objects than there are")
            try hold(
                measured.contentByteCount <= 3000, "\(measured.contentByteCount) bytes come out")
        }
    }

    /// The input is the beginning of a pack.
    static let packOpenings = FuzzTarget(
        name: "packOpenings",
        words: ["castpack\u{1}\u{0}\u{0}\u{0}", "(\u{B5}/\u{FD}", "\u{0}\u{0}\u{0}\u{0}"]
    ) { input in
        guard let manifest, let published else { throw Complaint(description: "no manifest") }
        for base in [nil, manifest] {
            let pack = Delivery.Pack(
                address: .zero, byteCount: 5000, openingByteCount: Int64(input.count),
                objectCount: 2, contentByteCount: 3000, base: nil, codecs: [0, 1, 2, 3],
                memoryByteCount: 0)
            let opening = try unlessRefused(as: [.badPack]) {
                try input.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
                    try PackOpening(
                        parsing: bytes, of: pack, to: published, from: base,
                        limits: .foreign(entryCountMax: 100))
                }
            }
            guard let opening else { continue }
            try hold(try ObjectID(of: opening.bytes) == published.manifest, "another manifest")
        }
    }

    /// The input is a frame that should give three thousand bytes, alone or after a prefix.
    static let packFrames = FuzzTarget(
        name: "packFrames", words: ["(\u{B5}/\u{FD}", "\u{20}", "\u{60}\u{B8}\u{A}"]
    ) { input in
        let decoder = try ZstdDecoder()
        for prefix in [[], Array(repeating: UInt8(ascii: "x"), count: 500)] {
            let content = try unlessRefused(as: [.badFrame]) {
                try decoder.decode(input, byteCount: 3000, prefix: prefix)
            }
            if let content { try hold(content.count == 3000, "\(content.count) bytes") }
        }
        var count = 0
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 16)
        defer { buffer.deallocate() }
        let isWhole: Void? = try unlessRefused(as: [.badFrame]) {
            try input.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
                try decoder.decode(
                    frame, byteCount: 3000, windowByteCountMax: 1 << 17, buffer: buffer
                ) { (piece) throws(StoreError) in count += piece.count }
            }
        }
        try hold(isWhole == nil ? count <= 3000 : count == 3000, "\(count) bytes in pieces")
    }

}
