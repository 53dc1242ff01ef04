package import CASStore

// Files of an origin by their paths in OriginLayout: for whoever serves them.
extension DirectoryOrigin {
    /// What stands at a path now; `nil` if that is no regular file.
    package func status(of path: String) throws(StoreError) -> FileStatus? {
        guard let status = try fileSystem.status(directory, path), status.kind == .regular else {
            return nil
        }
        return status
    }

    /// The bytes of a file, and what stat(2) said of it when they were read; `nil` if there is none.
    /// - Throws: `.tooLarge` above `limit` bytes; `.io`.
    package func file(
        _ path: String, limit: Int
    ) throws(StoreError) -> (bytes: [UInt8], status: FileStatus)? {
        let file = try fileSystem.ifPresent { () throws(StoreError) in
            try fileSystem.openBeneath(directory, path, .reading)
        }
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

    /// Opens a file that should have the bytes of an address; `nil` if there is none.
    package func open(
        _ address: ObjectID, at path: String
    ) throws(StoreError) -> ObjectReader? {
        // `ifPresent` returns an optional already.
        do throws(StoreError) {
            return try ObjectReader(address, at: path, below: directory, fileSystem)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }
}
