package import CASStore
package import VersionTree

/// An origin in a directory of this machine: pointers, manifests, objects.
///
/// Compares every byte that it returns with its address. Reading takes no lock: readers see the old
/// release or the new one while a publisher works. Several threads may use it at once.
package final class DirectoryOrigin: Sendable {
    /// The directory, as the caller gave it.
    package let path: String
    let fileSystem: any FileSystem
    private let root: Descriptor

    /// Opens the origin in a directory.
    /// - Throws: `.noOrigin` if there is none; `.unsupportedFormat` if it is newer than this castree;
    ///   `.permission`, `.io`.
    package convenience init(_ path: String) throws(StoreError) {
        try self.init(path, fileSystem: POSIXFileSystem())
    }

    package init(_ path: String, fileSystem: any FileSystem) throws(StoreError) {
        let root: Descriptor
        do throws(StoreError) {
            root = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            throw Self.noOrigin(path)
        }
        guard try OriginMarker.isPresent(root.raw, path, fileSystem) else {
            throw Self.noOrigin(path)
        }
        self.path = path
        self.fileSystem = fileSystem
        self.root = root
    }

    static func noOrigin(_ path: String) -> StoreError {
        StoreError(
            .noOrigin,
            "there is no origin in \(printable(path)); castree publish makes one")
    }

    /// The channels, sorted.
    package func channels() throws(StoreError) -> [ChannelName] {
        guard
            let directory = try fileSystem.openIfPresent(
                root.raw, OriginLayout.channels, .directory)
        else { return [] }
        return try OriginListing.channels(directory.raw, fileSystem)
    }

    /// What a channel offers; `nil` if there is no such channel.
    /// - Throws: `.badPointer`, `.unsupportedFormat`, `.tooLarge`.
    package func pointer(_ channel: ChannelName) throws(StoreError) -> ChannelPointer? {
        guard
            let directory = try fileSystem.openIfPresent(
                root.raw, OriginLayout.channels, .directory)
        else { return nil }
        return try ChannelPointer.read(channel, directory.raw, fileSystem)
    }

    /// The manifest's bytes; `nil` if the origin does not hold it.
    /// - Throws: `.damagedOrigin` if they do not match the address; `.tooLarge`.
    package func manifestBytes(_ address: ObjectID) throws(StoreError) -> [UInt8]? {
        try read(
            OriginLayout.manifest(address), address, limit: OriginLayout.manifestByteCountMax)
    }

    /// The manifest of a release; `nil` if the origin does not hold it.
    /// - Throws: `.damagedOrigin` if the bytes do not match the address, or are the manifest of
    ///   another version; `.badManifest`.
    package func manifest(
        of version: PublishedVersion
    ) throws(StoreError) -> (manifest: Manifest, received: [UInt8])? {
        guard let bytes = try manifestBytes(version.manifest) else { return nil }
        let manifest = try Manifest(parsing: bytes)
        guard manifest.version == version.name else {
            throw StoreError(
                .damagedOrigin,
                "the manifest that \(printable(path)) names for version \(version.name) is that of "
                    + "\(manifest.version)")
        }
        return (manifest, bytes)
    }

    /// The whole content of an object, verified; `nil` if the origin does not hold it.
    /// - Throws: `.tooLarge` beyond `limit` bytes; `.damagedOrigin` if the bytes do not match.
    package func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]? {
        try read(OriginLayout.object(address), address, limit: limit)
    }

    private func read(
        _ name: String, _ address: ObjectID, limit: Int
    ) throws(StoreError) -> [UInt8]? {
        guard let file = try open(name, limit: limit) else { return nil }
        let bytes = try fileSystem.read(file.descriptor.raw, at: 0, count: file.byteCount)
        guard try ObjectID(of: bytes) == address else { throw damaged(name, address) }
        return bytes
    }

    private func open(_ name: String, limit: Int) throws(StoreError) -> OpenedFile? {
        let descriptor: Descriptor
        do throws(StoreError) {
            descriptor = try fileSystem.openBeneath(root.raw, name, .reading)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        let status = try fileSystem.status(descriptor.raw)
        guard status.kind == .regular else {
            throw StoreError(
                .damagedOrigin, "\(printable(path))/\(name) is not a regular file")
        }
        guard status.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "\(printable(path))/\(name) has \(status.byteCount) bytes; at most \(limit) are read"
            )
        }
        return OpenedFile(descriptor: descriptor, byteCount: Int(status.byteCount))
    }

    private func damaged(_ name: String, _ address: ObjectID) -> StoreError {
        StoreError(
            .damagedOrigin,
            "the bytes of \(printable(path))/\(name) do not match its name; "
                + "castree publish --verify mends it", object: address)
    }
}

/// A regular file of an origin, and its size when it was opened.
private struct OpenedFile: ~Copyable {
    let descriptor: Descriptor
    let byteCount: Int
}
