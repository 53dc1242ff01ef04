/// The open directories of a store.
///
/// Everything inside is reached through them, so that moving the store, or swapping a directory for
/// a symbolic link, cannot redirect a running process.
package final class StoreDirectories: Sendable {
    package let root: Descriptor
    package let objects: Descriptor
    package let staging: Descriptor
    package let quarantine: Descriptor
    package let manifests: Descriptor
    package let versions: Descriptor
    package let leases: Descriptor

    init(_ fileSystem: any FileSystem, root: consuming Descriptor) throws(StoreError) {
        let raw = root.raw
        func open(_ name: String) throws(StoreError) -> Descriptor {
            do throws(StoreError) {
                return try fileSystem.open(raw, name, .directory, mode: 0)
            } catch {
                // A lost empty directory (a copy that skips them) is made again; a lost
                // `objects` or `manifests` holds what cannot be made again.
                guard error.code == .notFound, name != StoreLayout.objects else { throw error }
                try fileSystem.makeDirectory(raw, name, mode: 0o755)
                return try fileSystem.open(raw, name, .directory, mode: 0)
            }
        }
        let objects = try open(StoreLayout.objects)
        let staging = try open(StoreLayout.staging)
        let quarantine = try open(StoreLayout.quarantine)
        let manifests = try open(StoreLayout.manifests)
        let versions = try open(StoreLayout.versions)
        let leases = try open(StoreLayout.leases)
        self.root = root
        self.objects = objects
        self.staging = staging
        self.quarantine = quarantine
        self.manifests = manifests
        self.versions = versions
        self.leases = leases
    }
}
