package import CASStore
package import VersionTree

extension VersionStore {
    /// Makes a store over another file system.
    package static func create(
        at path: String, options: StoreOptions, fileSystem: any FileSystem
    ) throws(StoreError) -> VersionStore {
        VersionStore(
            try Store.create(
                at: path, options: options, manifests: StoredManifests(), fileSystem: fileSystem
            ).store)
    }

    /// Opens a store over another file system.
    package static func open(
        _ path: String, options: StoreOptions, fileSystem: any FileSystem
    ) throws(StoreError) -> VersionStore {
        VersionStore(
            try Store.open(
                path, options: options, manifests: StoredManifests(), fileSystem: fileSystem))
    }

    /// The same store, with smaller limits for the manifests that it writes.
    package func limited(to limits: Manifest.Limits) -> VersionStore {
        VersionStore(store, observer: observer, limits: limits)
    }
}
