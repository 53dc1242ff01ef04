import Archives
import CASStore
import HotPush
import Origin

/// The largest object that is read whole: what feeds read in a release are lists of its files.
private let objectByteCountMax: Int64 = 64 << 20

extension ClientRelease {
    /// A release of an origin; `nil` if it has no facts there, or something is missing.
    /// - Parameter now: in milliseconds since 1970.
    static func published(
        _ release: ChannelRelease, now: Int64, for configuration: ClientConfiguration,
        in clients: ClientLog
    ) throws(StoreError) -> ClientRelease? {
        guard release.version != nil else {
            let nothing = StoreError(
                .damagedOrigin, "the embedded version has no files in the origin")
            return ClientRelease(
                release: release, configuration: configuration, now: now,
                read: { (_) throws(StoreError) in throw nothing },
                digest: { (_) throws(StoreError) in throw nothing })
        }
        return try clients.content(of: release).map { content in
            ClientRelease(release, content, now: now, for: configuration, in: clients)
        }
    }

    init(
        _ release: ChannelRelease, _ content: ReleaseContent, now: Int64,
        for configuration: ClientConfiguration, in clients: ClientLog
    ) {
        self.init(
            release: release, configuration: configuration,
            content: ClientContent(manifest: content.manifest, facts: content.facts), now: now
        ) { (address) throws(StoreError) in
            if let byteCount = content.facts[address]?.byteCount, byteCount <= objectByteCountMax {
                let bytes = try content.object(address, 0..<byteCount, of: byteCount)
                if try ObjectID(of: bytes) == address { return bytes }
            }
            throw .damagedOrigin(
                "object \(address) of \(printable(clients.path)) is missing, or not what its name says; castree publish --verify repairs it",
                object: address)
        } digest: { (archive) throws(StoreError) in
            try archive.digest { (piece) throws(StoreError) in
                switch piece {
                case .bytes(let bytes): bytes
                case .object(let address, let range, let size):
                    try content.object(address, range, of: size)
                case .deflatedCopy(let address, let range, let size):
                    try content.deflatedCopy(address, range, of: size)
                }
            }
        }
    }
}

extension ZipArchive {
    /// The SHA-256 and the size of the archive; reads all of it, and compares each file with its address.
    fileprivate func digest(
        reading bytes: (Piece) throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> ArchiveDigest {
        // The most bytes in memory at once.
        let step = 1 << 20
        var whole = try Digester(.sha256)
        var file = try Digester(.sha256)
        for offset in stride(from: 0, to: byteCount, by: step) {
            for piece in pieces(in: offset..<min(offset + Int64(step), byteCount)) {
                let bytes = try bytes(piece)
                bytes.withUnsafeBytes { whole.update($0) }
                guard let part = piece.part else { continue }
                if part.range.lowerBound == 0 { file.reset() }
                bytes.withUnsafeBytes { file.update($0) }
                guard part.range.upperBound == part.size else { continue }
                guard file.finish({ ObjectID(unchecked: $0) }) == part.address else {
                    throw .damagedOrigin(
                        "\(part.address) is not what its name says; castree publish --verify repairs it",
                        object: part.address)
                }
            }
        }
        return ArchiveDigest(
            sha256: whole.finish { ObjectID(unchecked: $0) }, byteCount: byteCount)
    }
}

extension ZipArchive.Piece {
    fileprivate var part: (address: ObjectID, range: Range<Int64>, size: Int64)? {
        switch self {
        case .bytes: nil
        case .object(let address, let range, let size): (address, range, size)
        case .deflatedCopy(let address, let range, let size): (address, range, size)
        }
    }
}
