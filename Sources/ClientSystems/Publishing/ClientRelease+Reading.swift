import Archives
import CASStore
import HotPush

/// The largest object that is read whole: what feeds read in a release are lists of its files.
private let objectByteCountMax: Int64 = 64 << 20

extension ClientRelease {
    /// A release of an origin; `nil` if it has no facts there, or something is missing.
    /// - Parameter now: in milliseconds since 1970.
    static func published(
        _ release: OfferedRelease, now: Int64, for configuration: ClientConfiguration,
        in origin: any ToldOrigin
    ) throws(StoreError) -> ClientRelease? {
        guard release.version != nil else {
            // What was shipped with the app has no files in the origin.
            let nothing = StoreError(
                .damagedOrigin, "what was shipped with the app has no files in the origin")
            return ClientRelease(
                release: release, configuration: configuration, now: now,
                read: { (_) throws(StoreError) in throw nothing },
                digest: { (_) throws(StoreError) in throw nothing })
        }
        guard let told = try origin.content(of: release) else { return nil }
        return ClientRelease(
            release: release, configuration: configuration,
            content: ClientContent(manifest: told.manifest, facts: told.facts), now: now
        ) { (address) throws(StoreError) in
            if let byteCount = told.facts[address]?.byteCount, byteCount <= objectByteCountMax {
                let bytes = try told.object(address, 0..<byteCount, of: byteCount)
                if try ObjectID(of: bytes) == address { return bytes }
            }
            throw StoreError(
                .damagedOrigin,
                "object \(address) of \(printable(origin.path)) is missing, or not what its name says; castree publish --verify "
                    + "mends it", object: address)
        } digest: { (archive) throws(StoreError) in
            try archive.digest { (piece) throws(StoreError) in
                switch piece {
                case .bytes(let bytes): bytes
                case .object(let address, let range, let size):
                    try told.object(address, range, of: size)
                case .twin(let address, let range, let size):
                    try told.twin(address, range, of: size)
                }
            }
        }
    }

    /// A release before it is published, read in the store.
    init(
        _ release: OfferedRelease, _ content: ClientContent, now: Int64,
        for configuration: ClientConfiguration, in store: Store
    ) {
        self.init(release: release, configuration: configuration, content: content, now: now) {
            (address) throws(StoreError) in
            guard let byteCount = content.facts[address]?.byteCount,
                byteCount <= objectByteCountMax
            else { throw store.missingObject(address) }
            let bytes = try store.bytes(of: address, 0..<byteCount)
            guard try ObjectID(of: bytes) == address else {
                throw StoreError(
                    .damagedObject,
                    "the bytes of object \(address) do not match its address; run castree fsck --repair",
                    object: address)
            }
            return bytes
        } digest: { (archive) throws(StoreError) in
            let owners = content.facts.objects.reduce(into: [ObjectID: ObjectFacts]()) {
                owners, object in
                if let twin = object.twin { owners[twin.address] = object }
            }
            // An archive's pieces come in order: the twin that was read last is read again.
            var last: (address: ObjectID, bytes: [UInt8])?
            return try archive.digest { (piece) throws(StoreError) in
                switch piece {
                case .bytes(let bytes): return bytes
                case .object(let address, let range, _): return try store.bytes(of: address, range)
                case .twin(let address, let range, _):
                    if last?.address != address {
                        guard let owner = owners[address] else {
                            throw store.missingObject(address)
                        }
                        last = (address, try store.twin(of: owner))
                    }
                    return Array((last?.bytes ?? [])[Int(range.lowerBound)..<Int(range.upperBound)])
                }
            }
        }
    }
}

extension Store {
    fileprivate func bytes(
        of address: ObjectID, _ range: Range<Int64>
    ) throws(StoreError) -> [UInt8] {
        guard let file = try objects.open(address) else { throw missingObject(address) }
        return try fileSystem.read(
            file.raw, at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
    }

    /// Makes the twin of an object.
    fileprivate func twin(of owner: ObjectFacts) throws(StoreError) -> [UInt8] {
        guard let file = try objects.open(owner.address) else {
            throw missingObject(owner.address)
        }
        let deflater = try Deflater()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var twin: [UInt8] = []
        try fileSystem.forEachPiece(of: file.raw, buffer: buffer) { (piece) throws(StoreError) in
            try deflater.add(piece) { (bytes) throws(StoreError) in twin += bytes }
        }
        _ = try deflater.finish { (bytes) throws(StoreError) in twin += bytes }
        guard twin.count == owner.twin.map({ Int($0.byteCount) }) else {
            throw missingObject(owner.address)
        }
        return twin
    }
}

extension ZipArchive {
    /// The SHA-256 and the size of its bytes; reads all of it, and holds each file against its address.
    fileprivate func digest(
        reading bytes: (Piece) throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> ArchiveDigest {
        // So much is in memory at once.
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
                    throw StoreError(
                        .damagedOrigin,
                        "\(part.address) is not what its name says; castree publish --verify mends it",
                        object: part.address)
                }
            }
        }
        return ArchiveDigest(
            sha256: whole.finish { ObjectID(unchecked: $0) }, byteCount: byteCount)
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
