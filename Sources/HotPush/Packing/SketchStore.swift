import CASStore

/// The sketches of a content's objects, kept in `.publish/sketches/` under the content's address.
///
/// Derived: a file that is damaged, missing or cannot be read is made again. Never synced.
struct SketchStore {
    let place: PackingPlace
    /// Hears what cannot be kept.
    let trouble: CacheTrouble

    private var fileSystem: any FileSystem { place.fileSystem }
    private var publishing: Int32 { place.publishing.raw }

    private static let magic = Array("castsk01".utf8)
    private static let fingerprintByteCount = 16
    private static let byteCountMax = 256 << 20

    /// The sketches of a content that have enough hashes; empty if there are none.
    func read(_ content: ObjectID, limit: Int) throws(StoreError) -> [ObjectID: ContentSketch] {
        // A link would lead out of the origin.
        let bytes = try allowing(
            \.isOfCache,
            try OpenedDirectory.open(publishing, OriginLayout.sketches, fileSystem).map {
                (kept) throws(StoreError) in
                try fileSystem.contents(kept.raw, "\(content)", limit: Self.byteCountMax)
            })
        guard let bytes, bytes.count >= Self.magic.count + 8 + Self.fingerprintByteCount else {
            return [:]
        }
        let end = bytes.count - Self.fingerprintByteCount
        let found = bytes.withUnsafeBytes {
            Fingerprinter.fingerprint(UnsafeRawBufferPointer(rebasing: $0[..<end]))
        }
        guard found.withBytes({ Array($0) }) == Array(bytes[end...]), bytes.starts(with: Self.magic)
        else { return [:] }
        var reader = Reader(bytes: bytes, position: Self.magic.count, end: end)
        guard let kept = reader.number(), kept >= UInt64(limit) else { return [:] }
        return reader.sketches() ?? [:]
    }

    /// Keeps the sketches of a content, unless one of its objects has none.
    func keep(
        _ sketches: ObjectSketches, of content: PackedContent, limit: Int
    ) throws(StoreError) {
        var bytes = Self.magic
        Self.append(UInt64(limit), to: &bytes)
        for object in content.objects.references {
            // Too large to be a base, or to have one.
            guard let sketch = sketches[object.address] else { continue }
            object.address.withBytes { bytes.append(contentsOf: $0) }
            Self.append(sketch.bound, to: &bytes)
            Self.append(UInt64(sketch.hashes.count), to: &bytes)
            for hash in sketch.hashes { Self.append(hash, to: &bytes) }
        }
        guard bytes.count <= Self.byteCountMax - Self.fingerprintByteCount else { return }
        let fingerprint = bytes.withUnsafeBytes { Fingerprinter.fingerprint($0) }
        bytes += fingerprint.withBytes { Array($0) }
        let aside = "sketches-\(try randomToken())"
        let file = try fileSystem.open(place.work.raw, aside, .creating, mode: 0o666)
        try fileSystem.write(file.raw, bytes)
        // What is not kept goes with the directory of the work.
        _ = try trouble.withCache(OriginLayout.sketches) { () throws(StoreError) in
            try fileSystem.makeDirectoryIfAbsent(publishing, OriginLayout.sketches, mode: 0o777)
            let kept = try fileSystem.open(
                publishing, OriginLayout.sketches, .directory, mode: 0)
            try fileSystem.rename(place.work.raw, aside, to: kept.raw, "\(content.content)")
        }
    }

    private static func append(_ number: UInt64, to bytes: inout [UInt8]) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    private struct Reader {
        let bytes: [UInt8]
        var position: Int
        let end: Int

        mutating func number() -> UInt64? {
            guard position + 8 <= end else { return nil }
            defer { position += 8 }
            return bytes.withUnsafeBytes {
                UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            }
        }

        /// - Returns: `nil` if the bytes end inside one.
        mutating func sketches() -> [ObjectID: ContentSketch]? {
            var result: [ObjectID: ContentSketch] = [:]
            while position < end {
                guard position + ObjectID.byteCount <= end,
                    let address = ObjectID(bytes: bytes[position..<position + ObjectID.byteCount])
                else { return nil }
                position += ObjectID.byteCount
                guard let bound = number(), let count = number(), count <= UInt64(end) else {
                    return nil
                }
                var hashes: [UInt64] = []
                hashes.reserveCapacity(Int(count))
                for _ in 0..<count {
                    guard let hash = number() else { return nil }
                    hashes.append(hash)
                }
                result[address] = ContentSketch(hashes: hashes, bound: bound)
            }
            return result
        }
    }
}
