import Archives
import CASStore
import HotPush
import VersionTree

/// What offers are made from in an origin: manifests, facts, objects and twins.
struct OriginContent: ReleaseReading {
    let reader: DirectoryOrigin
    let origin: OriginPlace

    init(_ origin: OriginPlace) throws(StoreError) {
        self.origin = origin
        reader = try DirectoryOrigin(origin.path, fileSystem: origin.fileSystem)
    }

    /// A release as the rules of a system take it; `nil` if it has no facts, or something is missing.
    /// - Parameter now: in milliseconds since 1970.
    func release(_ release: OfferedRelease, now: Int64) throws(StoreError) -> ClientRelease? {
        guard let version = release.version else {
            return ClientRelease(release, nil, now: now, reading: self)
        }
        guard let address = release.facts, let facts = try reader.facts(address),
            let manifest = try reader.manifest(version.manifest)
        else { return nil }
        return ClientRelease(
            release, ClientContent(manifest: manifest, facts: facts), now: now, reading: self)
    }

    func object(_ address: ObjectID) throws(StoreError) -> [UInt8] {
        let path = OriginLayout.object(address)
        guard let bytes = try origin.contents(path, limit: objectByteCountMax),
            try ObjectID(of: bytes) == address
        else { throw damaged(path) }
        return bytes
    }

    func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8] {
        switch piece {
        case .bytes(let bytes): bytes
        case .object(let address, let range, let size):
            try bytes(OriginLayout.object(address), range, size)
        case .twin(let address, let range, let size):
            try bytes(OriginLayout.twin(address), range, size)
        }
    }

    private func bytes(
        _ path: String, _ range: Range<Int64>, _ size: Int64
    ) throws(StoreError) -> [UInt8] {
        let fileSystem = origin.fileSystem
        let file = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.openBeneath(origin.root, path, .reading)
        }
        guard let file, try fileSystem.status(file.raw).byteCount == size else {
            throw damaged(path)
        }
        let bytes = try fileSystem.read(
            file.raw, at: range.lowerBound, count: Int(range.upperBound - range.lowerBound))
        guard bytes.count == range.count else { throw damaged(path) }
        return bytes
    }

    private func damaged(_ path: String) -> StoreError {
        StoreError(
            .damagedOrigin,
            "\(printable(origin.path))/\(path) is missing, or not what its name says; castree publish --verify mends it"
        )
    }
}
