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
    /// The open directory, as long as this value lives.
    var directory: Int32 { root.raw }
    /// Opens the origin in a directory.
    /// - Throws: `.noOrigin` if there is none; `.unsupportedFormat` if it is newer than this castree;
    ///   `.permission`, `.io`.
    package init(
        _ path: String, fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        let root: Descriptor
        do throws(StoreError) {
            root = try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            throw Self.noOrigin(path)
        }
        guard try OriginMarker.isPresent(root.raw, path, fileSystem) else {
            try OriginMarker.refuseLost(root.raw, path, fileSystem)
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

    /// What all channels offer.
    /// - Throws: as ``pointer(_:)``.
    package func pointers() throws(StoreError) -> [ChannelName: ChannelPointer] {
        guard
            let directory = try fileSystem.openIfPresent(
                root.raw, OriginLayout.channels, .directory)
        else { return [:] }
        return try ChannelPointer.readAll(directory.raw, fileSystem)
    }

    /// The manifest's bytes; `nil` if the origin does not hold it.
    /// - Throws: `.damagedOrigin` if they do not match the address; `.tooLarge`.
    package func manifestBytes(
        _ address: ObjectID, in epoch: Int64 = 0
    ) throws(StoreError) -> [UInt8]? {
        let name = OriginLayout.manifest(address, in: epoch)
        let limit = OriginLayout.manifestByteCountMax
        let noFile = StoreError(
            .damagedOrigin,
            "\(printable(path))/\(name) is not a regular file; castree publish --verify mends it",
            object: address)
        let descriptor: Descriptor
        do throws(StoreError) {
            descriptor = try fileSystem.openBeneath(root.raw, name, .reading)
        } catch {
            if error.code == .notFound { return nil }
            throw error.isNotDirectory ? noFile : error
        }
        let status = try fileSystem.status(descriptor.raw)
        guard status.kind == .regular else { throw noFile }
        guard status.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "\(printable(path))/\(name) has \(status.byteCount) bytes; at most \(limit) are read"
            )
        }
        let bytes = try fileSystem.read(descriptor.raw, at: 0, count: Int(status.byteCount))
        guard try ObjectID(of: bytes) == address else {
            throw StoreError(
                .damagedOrigin,
                "the bytes of \(printable(path))/\(name) do not match its name; "
                    + "castree publish --verify mends it", object: address)
        }
        return bytes
    }

    /// A manifest; `nil` if the origin does not hold it.
    /// - Throws: as ``manifestBytes(_:in:)``; `.badManifest`.
    package func manifest(_ address: ObjectID) throws(StoreError) -> Manifest? {
        try manifestBytes(address).map { (bytes) throws(StoreError) in
            try Manifest(parsing: bytes)
        }
    }
}
