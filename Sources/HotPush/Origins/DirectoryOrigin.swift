package import CASStore

/// An origin in a directory of this machine, whose bytes are compared with their addresses when they are read.
///
/// Reading takes no lock: readers see the old release or the new one while a publisher works. Any thread may use it.
package final class DirectoryOrigin: Sendable {
    /// The directory, as the caller spelled it.
    package let path: String
    package let fileSystem: any FileSystem
    private let root: Descriptor
    package var directory: Int32 { root.raw }
    /// - Throws: `.noOrigin` if there is none; `.unsupportedFormat` if it is newer than this castree; `.permission`,
    ///   `.io`.
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

    package static func noOrigin(_ path: String) -> StoreError {
        let (shown, disk) = (printable(path), POSIXFileSystem())
        if Store.stands(at: path, disk) {
            return StoreError(
                .noOrigin,
                "\(shown) is a store and no origin: name it with --store (castree --store \(shown) fsck)"
            )
        }
        let left = OriginLayout.taken.first {
            // What cannot be looked at is said by whoever opens it.
            (try? disk.status(POSIXFileSystem.workingDirectory, "\(path)/\($0)")) ?? nil != nil
        }
        return StoreError(
            .noOrigin,
            left.map {
                "\(shown) has \($0) and is no origin, having neither \(OriginLayout.marker) nor a log nor a pointer: if it "
                    + "was one, put these back from an older copy; else publish to a directory of its own"
            } ?? "there is no origin in \(shown); castree publish creates one")
    }

    /// The channels, sorted.
    package func channels() throws(StoreError) -> [ChannelName] {
        guard
            let directory = try fileSystem.openIfPresent(
                root.raw, OriginLayout.channels, .directory)
        else { return [] }
        return try ChannelPointer.channels(directory.raw, fileSystem)
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

    /// A manifest's bytes; `nil` if the origin does not hold it.
    /// - Throws: `.damagedOrigin` if they do not match the address; `.tooLarge`.
    package func manifestBytes(_ address: ObjectID) throws(StoreError) -> [UInt8]? {
        try first(of: [OriginKey(.manifest, address)]) { (key) throws(StoreError) in
            try manifestBytes(address, at: key.path)
        }
    }

    private func manifestBytes(
        _ address: ObjectID, at name: String
    ) throws(StoreError) -> [UInt8]? {
        let noFile = StoreError.damagedOrigin(
            "\(printable(path))/\(name) is not a regular file; castree publish --verify repairs it",
            object: address)
        let found: [UInt8]?
        do throws(StoreError) {
            found = try file(name, limit: OriginLayout.manifestByteCountMax)?.bytes
        } catch {
            throw error.isNotDirectory ? noFile : error
        }
        guard let bytes = found else {
            // A publisher may have written it in the meantime.
            if let there = try fileSystem.status(directory, name), there.kind != .regular {
                throw noFile
            }
            return nil
        }
        guard try ObjectID(of: bytes) == address else {
            throw .damagedOrigin(
                "the bytes of \(printable(path))/\(name) do not match its name; "
                    + "castree publish --verify repairs it", object: address)
        }
        return bytes
    }

    /// What the first of these files yields, in its own epoch or any other: equal addresses are equal bytes.
    ///
    /// Who asks may know an address alone, and a copy of a bucket has files in several epochs. Only what is not in the
    /// given epochs costs a look for others.
    package func first<Found: ~Copyable>(
        of keys: [OriginKey], _ find: (OriginKey) throws(StoreError) -> Found?
    ) throws(StoreError) -> Found? {
        for key in keys {
            if let found = try find(key) { return found }
        }
        for epoch in try epochs() + [0] {
            for key in keys where key.epoch != epoch {
                let other = OriginKey(key.kind, key.address, in: epoch)
                if let found = try find(other) { return found }
            }
        }
        return nil
    }

    /// The epochs above 0, the newest first.
    private func epochs() throws(StoreError) -> [Int64] {
        // What else has these names is not castree's.
        let opened = try allowing(
            \.isNotDirectory,
            try fileSystem.openIfPresent(root.raw, OriginLayout.epochs, .directory))
        guard let opened else { return [] }
        return try fileSystem.names(in: opened.raw) { $1 == .directory || $1 == .unknown }
            .compactMap { OriginLayout.epoch(of: "\(OriginLayout.epochs)/\($0)/")?.epoch }
            .sorted(by: >)
    }

    /// The current status of a regular file; `nil` for anything else.
    package func status(of path: String) throws(StoreError) -> FileStatus? {
        guard let status = try fileSystem.status(directory, path), status.kind == .regular else {
            return nil
        }
        return status
    }

    /// A file's bytes and its status when they were read; `nil` if there is none.
    /// - Throws: `.tooLarge` above `limit` bytes; `.io`.
    package func file(
        _ path: String, limit: Int
    ) throws(StoreError) -> (bytes: [UInt8], status: FileStatus)? {
        let file = try allowing([.notFound], try fileSystem.openBeneath(directory, path, .reading))
        guard let file else { return nil }
        let status = try fileSystem.status(file.raw)
        guard status.kind == .regular else { return nil }
        guard status.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "\(printable(self.path))/\(path) has \(status.byteCount) bytes; at most \(limit) are read"
            )
        }
        return (try fileSystem.read(file.raw, at: 0, count: Int(status.byteCount)), status)
    }

    /// Opens the file of an address; `nil` if there is none.
    package func open(_ address: ObjectID, at path: String) throws(StoreError) -> ObjectReader? {
        try allowing([.notFound], try ObjectReader(address, at: path, below: directory, fileSystem))
    }
}

/// A directory held by reference, because there may be none.
package final class OpenedDirectory: Sendable {
    private let descriptor: Descriptor

    package var raw: Int32 { descriptor.raw }

    private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Opens a directory, following links in the path that a user typed but not in names inside it; `nil` if missing.
    package static func open(
        _ parent: Int32, _ name: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> OpenedDirectory? {
        let access: Access =
            parent == POSIXFileSystem.workingDirectory ? .directoryFollowingLinks : .directory
        guard let opened = try fileSystem.openIfPresent(parent, name, access) else { return nil }
        return OpenedDirectory(opened)
    }
}
