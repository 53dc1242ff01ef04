package import CASStore
import VersionTree

extension OriginPlace: ToldOrigin {
    package func hasClients() throws(StoreError) -> Bool {
        try fileSystem.status(root, OriginLayout.clients) != nil
    }

    package func goBack(from path: String, where isRead: ([UInt8]) -> Bool) -> Bool { false }

    package func write(
        document bytes: [UInt8], _ address: ObjectID, of system: String, in epoch: Int64?
    ) throws(StoreError) -> Int64 {
        let path = OriginLayout.clientDocument(address, of: system, in: epoch ?? 0)
        if try contents(path, of: Int64(bytes.count)) != bytes { try replace(path, with: bytes) }
        return epoch ?? 0
    }

    package func has(
        document address: ObjectID, _ byteCount: Int64, in epoch: Int64, of system: String
    ) throws(StoreError) -> Bool {
        let path = OriginLayout.clientDocument(address, of: system, in: epoch)
        guard let bytes = try contents(path, of: byteCount) else { return false }
        return try ObjectID(of: bytes) == address
    }

    /// - Returns: the bytes of a file; `nil` if there is none, or it has not so many.
    private func contents(
        _ path: String, of byteCount: Int64
    ) throws(StoreError) -> [UInt8]? {
        guard let status = try fileSystem.status(root, path), status.byteCount == byteCount else {
            return nil
        }
        return try contents(path, limit: Int(byteCount))
    }

    package func content(
        of release: OfferedRelease
    ) throws(StoreError) -> (any ToldRelease)? {
        let reader = try DirectoryOrigin(path, fileSystem: fileSystem)
        guard let version = release.version, let address = release.facts,
            let facts = try reader.facts(address),
            let manifest = try reader.manifest(version.manifest)
        else { return nil }
        return DirectoryRelease(origin: self, manifest: manifest, facts: facts)
    }
}

/// The files of a release in a directory.
private struct DirectoryRelease: ToldRelease {
    let origin: OriginPlace
    let manifest: Manifest
    let facts: ContentFacts

    func object(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        try bytes(OriginLayout.object(address), range, byteCount)
    }

    func twin(
        _ address: ObjectID, _ range: Range<Int64>, of byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        try bytes(OriginLayout.twin(address), range, byteCount)
    }

    private func bytes(
        _ path: String, _ range: Range<Int64>, _ byteCount: Int64
    ) throws(StoreError) -> [UInt8] {
        let fileSystem = origin.fileSystem
        let file = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.openBeneath(origin.root, path, .reading)
        }
        guard let file, try fileSystem.status(file.raw).byteCount == byteCount else {
            throw damaged(path)
        }
        let bytes = try fileSystem.read(file.raw, at: range.lowerBound, count: range.count)
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
