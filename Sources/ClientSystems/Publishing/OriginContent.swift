import Archives
import CASStore
import HotPush
import VersionTree

/// What offers are made from in an origin: objects and twins of a release.
struct OriginContent: ReleaseReading {
    private let release: any ToldRelease
    private let origin: any ToldOrigin

    /// A release as the rules of a system take it; `nil` if it has no facts, or something is missing.
    /// - Parameter now: in milliseconds since 1970.
    static func release(
        _ release: OfferedRelease, now: Int64, in origin: any ToldOrigin
    ) throws(StoreError) -> ClientRelease? {
        guard release.version != nil else {
            return ClientRelease(release, nil, now: now, reading: Nothing())
        }
        guard let told = try origin.content(of: release) else { return nil }
        return ClientRelease(
            release, ClientContent(manifest: told.manifest, facts: told.facts), now: now,
            reading: OriginContent(release: told, origin: origin))
    }

    func object(_ address: ObjectID) throws(StoreError) -> [UInt8] {
        guard let byteCount = release.facts[address]?.byteCount, byteCount <= objectByteCountMax
        else { throw damaged(address) }
        let bytes = try release.object(address, 0..<byteCount, of: byteCount)
        guard try ObjectID(of: bytes) == address else { throw damaged(address) }
        return bytes
    }

    func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8] {
        switch piece {
        case .bytes(let bytes): bytes
        case .object(let address, let range, let size):
            try release.object(address, range, of: size)
        case .twin(let address, let range, let size): try release.twin(address, range, of: size)
        }
    }

    private func damaged(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedOrigin,
            "object \(address) of \(printable(origin.path)) is missing, or not what its name says; castree publish --verify "
                + "mends it", object: address)
    }
}

/// What was shipped with the app has no files in the origin.
private struct Nothing: ReleaseReading {
    func object(_ address: ObjectID) throws(StoreError) -> [UInt8] {
        throw StoreError(.damagedOrigin, "object \(address) is in no release", object: address)
    }

    func bytes(of piece: ZipArchive.Piece) throws(StoreError) -> [UInt8] {
        throw StoreError(.damagedOrigin, "what was shipped with the app is in no archive")
    }
}
