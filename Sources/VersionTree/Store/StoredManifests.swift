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
        return try manifest.registration(manifest: address.finish(file, fileSystem))
    }

    /// Whether a tree or the lifecycle names a version; an unreadable lifecycle may name any.
    package func isSpokenOf(
        _ version: String, _ directories: StoreDirectories, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        if try fileSystem.status(directories.versions.raw, version)?.kind == .directory {
            return true
        }
        let lifecycle = try allowing(
            \.saysLifecycleIsBad, try Lifecycle.read(directories.root.raw, fileSystem))
        return lifecycle?.needed.contains(version) ?? true
    }
}
