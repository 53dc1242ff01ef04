package import CASStore

/// Reads manifests for the index.
package struct StoredManifests: ManifestReading {
    package init() {}

    package var byteCountMax: Int { Manifest.byteCountMax }

    package func registration(
        of name: String, from file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Registration {
        let address = try RunningAddress()
        let manifest = try Manifest(reading: file, fileSystem, address)
        guard manifest.version.description == name else {
            throw StoreError(
                .badManifest,
                "the manifest file of version \(printable(name)) is that of \(manifest.version)")
        }
        return try manifest.registration(
            manifest: Self.address(address, of: file, fileSystem))
    }

    /// Whether a tree or the lifecycle speaks of a version; a lifecycle that cannot be read may speak of any.
    package func isSpokenOf(
        _ version: String, _ directories: StoreDirectories, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        if try fileSystem.status(directories.versions.raw, version)?.kind == .directory {
            return true
        }
        do throws(StoreError) {
            return try Lifecycle.read(directories.root.raw, fileSystem).needed.contains(version)
        } catch {
            guard error.code == .badLifecycle || error.code == .tooLarge else { throw error }
            return true
        }
    }

    /// SHA-256 of a manifest file's bytes, as far as it is not known from reading it.
    static func address(
        _ known: RunningAddress, of file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> ObjectID {
        if let address = known.finish(byteCount: file.byteCount) { return address }
        var digester = try Digester(.sha256)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        try fileSystem.forEachPiece(of: file.descriptor.raw, buffer: buffer) {
            (piece) throws(StoreError) in digester.update(piece)
        }
        return digester.finish { ObjectID(unchecked: $0) }
    }
}
