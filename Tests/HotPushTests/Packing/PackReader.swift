import CASStore
import Foundation
import StorageTestSupport
import Testing
import VersionTree
import Zstandard

@testable import HotPush

/// Reads the packs of an origin in the plainest way: whole files, in memory.
struct PackReader {
    let origin: String
    /// Where bases are that the origin has not.
    var store: Store?

    /// A pack that was read.
    struct Pack {
        var table: PackTable
        var manifest: [UInt8]
        /// The contents that came out, each held against its address.
        var objects: [ObjectID: [UInt8]]
    }

    func delivery(of version: PublishedVersion, _ published: PublishedDelivery) throws -> Delivery {
        let bytes = try Damage.contents("\(origin)/\(OriginLayout.delivery(published.address))")
        #expect(Int64(bytes.count) == published.byteCount)
        #expect(try ObjectID(of: bytes) == published.address)
        return try Delivery(parsing: bytes, of: version)
    }

    /// The delivery of the first release of a channel; `nil` if it has none.
    func delivery(_ channel: ChannelName = .stable) throws -> Delivery? {
        let pointer = try DirectoryOrigin(origin).pointer(channel)
        guard let release = pointer?.releases.first, let published = release.delivery else {
            return nil
        }
        return try delivery(of: #require(release.version), published)
    }

    /// Decodes a pack, and holds everything in it against the manifest.
    /// - Parameter base: the manifest of the content from which it leads.
    func read(_ pack: Delivery.Pack, from base: Manifest? = nil) throws -> Pack {
        let bytes = try Damage.contents("\(origin)/\(OriginLayout.pack(pack.address))")
        #expect(try ObjectID(of: bytes) == pack.address)
        #expect(Int64(bytes.count) == pack.byteCount)
        let head = try PackHead(
            parsing: Array(bytes.prefix(PackHead.byteCount)), packByteCount: pack.byteCount)
        let decoder = try ZstdDecoder()
        let tableBytes = Array(bytes[PackHead.byteCount..<Int(head.framesStart)])
        let first = try Self.manifestByteCount(tableBytes, decoder)
        let table = try PackTable(
            decoding: tableBytes, head: head, manifestByteCount: first, decoder: decoder)
        #expect(table.frames[0].end == pack.openingByteCount)
        #expect(table.contentByteCount == pack.contentByteCount)
        #expect(Int64(table.entries.count) == pack.objectCount)
        #expect(Set(table.frames.map { Int64($0.codec.rawValue) }).sorted() == pack.codecs)
        let manifest = try content(
            of: table.frames[0], in: bytes, prefix: base?.prefix() ?? [], decoder)
        let objects = NumberedObjects(of: try Manifest(parsing: manifest))
        try table.check(against: objects)
        let baseObjects = base.map { NumberedObjects(of: $0) }
        if let baseObjects { try table.checkBases(against: baseObjects) }
        var contents: [ObjectID: [UInt8]] = [:]
        for frame in table.frames.dropFirst() {
            var prefix: [UInt8] = []
            for base in frame.bases {
                let object = try #require(baseObjects).references[Int(table.bases[base])]
                prefix += try baseBytes(object)
            }
            let content = try content(of: frame, in: bytes, prefix: prefix, decoder)
            var offset = 0
            for entry in table.entries[frame.entries] {
                let address = objects.references[Int(entry.number)].address
                let object = Array(content[offset..<offset + Int(entry.byteCount)])
                #expect(try ObjectID(of: object) == address)
                contents[address] = object
                offset += object.count
            }
            #expect(offset == content.count)
        }
        return Pack(table: table, manifest: manifest, objects: contents)
    }

    private func baseBytes(_ object: Reference) throws -> [UInt8] {
        let path = "\(origin)/\(OriginLayout.object(object.address))"
        if FileManager.default.fileExists(atPath: path) { return try Damage.contents(path) }
        return try #require(try store?.read(object.address, limit: Int(object.byteCount)))
    }

    private func content(
        of frame: PackTable.Frame, in bytes: [UInt8], prefix: [UInt8], _ decoder: ZstdDecoder
    ) throws -> [UInt8] {
        let packed = Array(bytes[Int(frame.offset)..<Int(frame.end)])
        if frame.codec == .stored { return packed }
        return try decoder.decode(
            packed, byteCount: Int(frame.contentByteCount),
            prefix: frame.codec == .prefixed ? prefix : [])
    }

    /// What the first frame of a table says, which readers know from the pointer.
    private static func manifestByteCount(
        _ table: [UInt8], _ decoder: ZstdDecoder
    ) throws -> Int64 {
        let header = try table.withUnsafeBytes { try ZstdHeader(of: $0) }
        let numbers = try decoder.decode(table, byteCount: Int(header.contentByteCount))
        var position = 0
        func next() -> Int64 {
            var (value, shift): (Int64, Int64) = (0, 0)
            while numbers[position] >= 0x80 {
                value |= Int64(numbers[position] & 0x7F) << shift
                (position, shift) = (position + 1, shift + 7)
            }
            position += 1
            return value | Int64(numbers[position - 1]) << shift
        }
        for _ in 0..<next() { _ = next() }
        _ = (next(), next(), next())
        return next()
    }
}
