import Archives
import CASStore
import HotPush

/// Where the rules of a system read a release: in the origin, or before it is published in the store.
protocol ReleaseReading {
    /// The bytes of a small object, which match its address.
    func object(_ address: ObjectID) throws(StoreError) -> [UInt8]
    /// The bytes of a piece of an archive; nobody has held them against an address.
    func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8]
}

extension ReleaseReading {
    /// The largest object that is read whole: what rules read in a release are lists of its files.
    var objectByteCountMax: Int { 64 << 20 }

    /// The SHA-256 and the size of an archive's bytes; reads all of it, and holds each file against its address.
    func digest(of archive: ZipArchive) throws(StoreError) -> ArchiveDigest {
        // So much is in memory at once.
        let step: Int64 = 1 << 20
        var whole = try Digester(.sha256)
        var file = try Digester(.sha256)
        var offset: Int64 = 0
        while offset < archive.byteCount {
            let end = min(offset + step, archive.byteCount)
            for piece in archive.pieces(in: offset..<end) {
                let bytes = try bytes(of: piece)
                bytes.withUnsafeBytes { whole.update($0) }
                guard let part = piece.part else { continue }
                if part.range.lowerBound == 0 { file.reset() }
                bytes.withUnsafeBytes { file.update($0) }
                guard part.range.upperBound == part.size else { continue }
                guard file.finish({ ObjectID(unchecked: $0) }) == part.address else {
                    throw StoreError(
                        .damagedOrigin,
                        "\(part.address) is not what its name says; castree publish --verify mends it",
                        object: part.address)
                }
            }
            offset = end
        }
        return ArchiveDigest(
            sha256: whole.finish { ObjectID(unchecked: $0) }, byteCount: archive.byteCount)
    }
}

extension ZipArchive.Piece {
    /// The file that it is a part of; `nil` for bytes in memory.
    fileprivate var part: (address: ObjectID, range: Range<Int64>, size: Int64)? {
        switch self {
        case .bytes: nil
        case .object(let address, let range, let size): (address, range, size)
        case .twin(let address, let range, let size): (address, range, size)
        }
    }
}

extension ClientRelease {
    /// - Parameters:
    ///   - content: `nil` if clients are to go back to what was shipped with the app.
    ///   - now: in milliseconds since 1970.
    init(
        _ release: OfferedRelease, _ content: ClientContent?, now: Int64,
        reading: some ReleaseReading
    ) {
        self.init(
            release: release, content: content, facts: content == nil ? nil : release.facts,
            now: now
        ) { (address) throws(StoreError) in
            try reading.object(address)
        } digest: { (archive) throws(StoreError) in
            try reading.digest(of: archive)
        }
    }
}
