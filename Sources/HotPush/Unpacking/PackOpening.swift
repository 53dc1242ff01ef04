import CASStore
import VersionTree
import Zstandard

/// The beginning of a pack, read and proved: its table, and the manifest that it leads to.
struct PackOpening: Sendable {
    /// The pack as the delivery describes it.
    let pack: Delivery.Pack
    /// What is in it, and where.
    let table: PackTable
    /// The bytes of the manifest, compared with the release's address.
    let manifest: [UInt8]

    /// Reads the first ``Delivery/Pack/openingByteCount`` bytes of a pack.
    ///
    /// - Parameters:
    ///   - version: what the release names.
    ///   - base: the manifest of the content from which the pack leads; `nil` for a pack of everything.
    /// - Throws: `.badPack` with what is wrong.
    init(
        parsing bytes: UnsafeRawBufferPointer, of pack: Delivery.Pack,
        to version: PublishedVersion, from base: Manifest?
    ) throws(StoreError) {
        guard bytes.count == Int(pack.openingByteCount), bytes.count > PackHead.byteCount else {
            throw .badPack("its beginning is cut off")
        }
        let head = try PackHead(
            parsing: Array(bytes[..<PackHead.byteCount]), packByteCount: pack.byteCount)
        let end = Int(head.framesStart)
        guard end < bytes.count else { throw .badPack("its table is longer than its beginning") }
        let decoder = try ZstdDecoder()
        let table = try PackTable(
            decoding: Array(bytes[PackHead.byteCount..<end]), head: head,
            manifestByteCount: version.manifestByteCount, decoder: decoder)
        try Self.hold(table, against: pack)
        let frame = Array(bytes[end...])
        self.pack = pack
        self.table = table
        manifest = try Self.manifest(table.frames[0], frame, version, base, decoder)
    }

    /// What the delivery promises must be so: a device has decided by it.
    private static func hold(
        _ table: PackTable, against pack: Delivery.Pack
    ) throws(StoreError) {
        guard table.frames[0].end == pack.openingByteCount else {
            throw .badPack(
                "its beginning has \(table.frames[0].end) bytes, and its delivery says "
                    + "\(pack.openingByteCount)")
        }
        guard table.contentByteCount == pack.contentByteCount,
            Int64(table.entries.count) == pack.objectCount
        else { throw .badPack("it contains something else than its delivery says") }
        for frame in table.frames where !pack.codecs.contains(Int64(frame.codec.rawValue)) {
            throw .badPack("it has frames of codec \(frame.codec.rawValue), unlike its delivery")
        }
        guard pack.base != nil || table.bases.isEmpty else {
            throw .badPack("it has bases and leads from nothing")
        }
    }

    private static func manifest(
        _ frame: PackTable.Frame, _ bytes: [UInt8], _ version: PublishedVersion, _ base: Manifest?,
        _ decoder: ZstdDecoder
    ) throws(StoreError) -> [UInt8] {
        let manifest: [UInt8]
        do throws(StoreError) {
            switch frame.codec {
            case .stored: manifest = bytes
            case .compressed:
                manifest = try decoder.decode(bytes, byteCount: Int(frame.contentByteCount))
            case .prefixed:
                guard let base else { throw .badPack("its manifest has a prefix and no base") }
                manifest = try decoder.decode(
                    bytes, byteCount: Int(frame.contentByteCount), prefix: base.prefix())
            }
        } catch {
            throw .badPack("its manifest: \(error.message)")
        }
        guard try ObjectID(of: manifest) == version.manifest else {
            throw .badPack("its manifest is not the release's")
        }
        return manifest
    }
}
