import Delta
package import HotPush
import Zstandard

/// Reads the packs of an origin in the plainest way: whole files, in memory.
package struct PackReader {
    /// The bytes of a file of the origin.
    private let file: (String) throws -> [UInt8]?
    /// Where bases are that the origin has not.
    private let store: Store?

    package init(file: @escaping (String) throws -> [UInt8]?, store: Store?) {
        (self.file, self.store) = (file, store)
    }

    package struct Pack {
        package var table: PackTable
        package var manifest: [UInt8]
        /// The contents that came out, each held against its address.
        package var objects: [ObjectID: [UInt8]]
    }

    package func delivery(
        of version: PublishedVersion, _ published: PublishedDelivery
    ) throws -> Delivery {
        let bytes = try require(
            file(OriginLayout.path(.delivery, published.address, in: published.epoch)))
        expect(Int64(bytes.count), equals: published.byteCount)
        try expect(ObjectID(of: bytes), equals: published.address)
        return try Delivery(parsing: bytes, of: version)
    }

    /// The delivery of the first release of a channel; `nil` if it has none.
    package func delivery(_ channel: ChannelName = .stable) throws -> Delivery? {
        let pointer = try file(OriginLayout.pointer(channel)).map {
            try ChannelPointer(parsing: $0, of: channel)
        }
        guard let release = pointer?.releases.first, let published = release.delivery else {
            return nil
        }
        return try delivery(of: require(release.version), published)
    }

    /// Decodes a pack, and holds everything in it against the manifest.
    /// - Parameter base: the manifest of the content from which it leads.
    package func read(
        _ pack: Delivery.Pack, from base: Manifest? = nil, in epoch: Int64 = 0
    ) throws -> Pack {
        let bytes = try require(file(OriginLayout.path(.pack, pack.address, in: epoch)))
        try expect(ObjectID(of: bytes), equals: pack.address)
        expect(Int64(bytes.count), equals: pack.byteCount)
        let head = try PackHead(
            parsing: Array(bytes.prefix(PackHead.byteCount)), packByteCount: pack.byteCount)
        let decoder = try ZstdDecoder()
        let tableBytes = Array(bytes[PackHead.byteCount..<Int(head.framesStart)])
        var table = try PackTable(
            decoding: tableBytes, head: head, countMax: 1_000_000, decoder: decoder)
        expect(table.frames[0].end, equals: pack.openingByteCount)
        expect(Set(table.frames.map { Int64($0.codec.rawValue) }).sorted(), equals: pack.codecs)
        let manifest = try manifest(
            table.frames[0], in: bytes, prefix: base?.plainEntries(), decoder)
        let objects = NumberedObjects(of: try Manifest(parsing: manifest))
        let baseObjects = base.map { NumberedObjects(of: $0) }
        try table.measure(manifest: Int64(manifest.count), objects, from: baseObjects)
        expect(table.contentByteCount, equals: pack.contentByteCount)
        expect(Int64(table.objectCount), equals: pack.objectCount)
        var contents: [ObjectID: [UInt8]] = [:]
        for frame in table.frames.dropFirst() {
            var prefix: [UInt8] = []
            for number in frame.bases {
                prefix += try baseBytes(require(baseObjects).references[Int(number)])
            }
            let content = try content(of: frame, in: bytes, prefix: prefix, decoder)
            var offset = 0
            for number in frame.objects {
                let expected = objects.references[Int(number)]
                let object = Array(content[offset..<offset + Int(expected.byteCount)])
                try expect(ObjectID(of: object), equals: expected.address)
                expect(contents[expected.address] == nil)
                contents[expected.address] = object
                offset += object.count
            }
            expect(offset, equals: content.count)
        }
        return Pack(table: table, manifest: manifest, objects: contents)
    }

    /// The first frame, whose size readers know from the pointer.
    private func manifest(
        _ frame: PackTable.Frame, in bytes: [UInt8], prefix: [UInt8]?, _ decoder: ZstdDecoder
    ) throws -> [UInt8] {
        var frame = frame
        let packed = bytes[Int(frame.offset)..<Int(frame.end)]
        frame.contentByteCount =
            frame.codec == .stored
            ? frame.byteCount
            : Int64(try packed.withUnsafeBytes { try ZstdHeader(of: $0) }.contentByteCount)
        return try content(of: frame, in: bytes, prefix: prefix ?? [], decoder)
    }

    private func baseBytes(_ object: Reference) throws -> [UInt8] {
        if let bytes = try file(OriginLayout.path(.object, object.address)) { return bytes }
        return try require(try store?.read(object.address, limit: Int(object.byteCount)))
    }

    private func content(
        of frame: PackTable.Frame, in bytes: [UInt8], prefix: [UInt8], _ decoder: ZstdDecoder
    ) throws -> [UInt8] {
        let packed = Array(bytes[Int(frame.offset)..<Int(frame.end)])
        if frame.codec == .stored { return packed }
        if frame.codec == .delta {
            return try DeltaDecoder.decode(
                packed, base: prefix, byteCount: Int(frame.contentByteCount))
        }
        return try decoder.decode(
            packed, byteCount: Int(frame.contentByteCount),
            prefix: frame.codec == .prefixed ? prefix : [])
    }
}
