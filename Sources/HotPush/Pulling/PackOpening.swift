import CASStore
import VersionTree
import Zstandard

/// The verified beginning of a pack: its table and the release's manifest.
struct PackOpening: Sendable {
    let pack: Delivery.Pack
    let table: PackTable
    let bytes: [UInt8]
    let manifest: Manifest
    let objects: NumberedObjects
    let baseObjects: NumberedObjects?

    /// Reads the first ``Delivery/Pack/openingByteCount`` bytes of a pack.
    /// - Parameter base: the manifest of the pack's base content; `nil` for a full pack.
    /// - Throws: `.badPack` with the reason; `.badManifest` for a manifest that nobody should have published.
    init(
        parsing text: UnsafeRawBufferPointer, of pack: Delivery.Pack,
        to version: PublishedVersion, from base: Manifest?, limits: Manifest.Limits
    ) throws(StoreError) {
        guard text.count == Int(pack.openingByteCount), text.count > PackHead.byteCount else {
            throw .badPack("its beginning is cut off")
        }
        let head = try PackHead(
            parsing: Array(text[..<PackHead.byteCount]), packByteCount: pack.byteCount)
        let end = Int(head.framesStart)
        guard end < text.count else { throw .badPack("its table is longer than its beginning") }
        let decoder = try ZstdDecoder()
        var table = try PackTable(
            decoding: Array(text[PackHead.byteCount..<end]), head: head, countMax: limits.count,
            decoder: decoder)
        guard table.frames[0].end == pack.openingByteCount else {
            throw .badPack(
                "its beginning has \(table.frames[0].end) bytes, and its delivery says "
                    + "\(pack.openingByteCount)")
        }
        let bytes = try Self.manifest(
            table.frames[0], Array(text[end...]), version, base, decoder)
        let manifest = try Manifest(parsing: bytes, limits: limits)
        let objects = NumberedObjects(of: manifest)
        let baseObjects = base.map { NumberedObjects(of: $0) }
        try table.measure(manifest: version.manifestByteCount, objects, from: baseObjects)
        try Self.hold(table, against: pack)
        try Self.refuseManyBases(table, baseObjects)
        self.pack = pack
        self.table = table
        self.bytes = bytes
        self.manifest = manifest
        self.objects = objects
        self.baseObjects = baseObjects
    }

    /// The name of a frame's partial file, by which it counts as progress of the version until nothing needs it.
    func part(ofFrame index: Int) throws(StoreError) -> PartName {
        let name = try ObjectID(of: Array("castree-frame 1\n\(pack.address) \(index)\n".utf8))
        let frame = table.frames[index]
        let largest = frame.objects.lazy.map { objects.references[Int($0)] }
            .max { ($0.byteCount, $0.address) < ($1.byteCount, $1.address) }
        guard let largest else { return PartName(name) }
        return PartName(name, byteCount: frame.byteCount, leadingTo: largest.address)
    }

    // The device has decided by the delivery's figures, so they must be true.
    private static func hold(
        _ table: PackTable, against pack: Delivery.Pack
    ) throws(StoreError) {
        guard table.contentByteCount == pack.contentByteCount,
            Int64(table.objectCount) == pack.objectCount
        else { throw .badPack("it contains something else than its delivery says") }
        for frame in table.frames where !pack.codecs.contains(Int64(frame.codec.rawValue)) {
            throw .badPack("it has frames of codec \(frame.codec.rawValue), unlike its delivery")
        }
    }

    // Bounds the work by the output: no pack may make a device read the same bases endlessly.
    private static func refuseManyBases(
        _ table: PackTable, _ objects: NumberedObjects?
    ) throws(StoreError) {
        guard let objects else { return }
        var sum: Int64 = 0
        for base in table.frames.lazy.flatMap(\.bases) {
            sum = sum.addingClamped(objects.references[Int(base)].byteCount)
        }
        let (scaled, isHuge) = table.contentByteCount.multipliedReportingOverflow(by: 512)
        let limit = isHuge ? .max : scaled.addingClamped(PackLimits.allBasesByteCountMax)
        guard sum <= limit else { throw .badPack("its bases have \(sum) bytes") }
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

                manifest = try decoder.decode(bytes, byteCount: Int(version.manifestByteCount))
            case .prefixed:
                guard let base,
                    version.manifestByteCount <= PackLimits.prefixedManifestByteCountMax
                else { throw .badPack("its manifest cannot have a prefix") }
                manifest = try decoder.decode(
                    bytes, byteCount: Int(version.manifestByteCount), prefix: base.plainEntries())
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
