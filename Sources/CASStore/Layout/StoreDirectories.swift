/// The open directories of a store, through which everything inside is reached.
///
/// Moving the store, or swapping a directory for a symbolic link, thus cannot redirect a running process.
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
                if let there = try fileSystem.openIfPresent(raw, name, .directory) { return there }
            } catch {
                guard error.isNotDirectory else { throw error }
                let kind = try fileSystem.status(raw, name)?.kind ?? .unknown
                throw StoreError(
                    error.code,
                    "\(kind.noun) stands in place of the store's directory \(name), and nothing is read "
                        + "through it; put the directory back, or let castree fsck --repair move "
                        + "what is there to quarantine. To keep a store on another disk, "
                        + "move all of it",
                    cause: error.cause)
            }
            // Lost directories (some copies skip empty ones) are made again, even that of the objects, which a repair
            // restores from trees. But without manifests, versions that have no tree would be garbage.
            if name == StoreLayout.manifests, try !Self.isWithoutObjects(fileSystem, raw) {
                throw StoreError(
                    .noStore,
                    "the store has lost its directory \(name); put it back from a copy, or create an empty one and run castree fsck --repair, which restores manifests from trees"
                )
            }
            if name == StoreLayout.objects, try fileSystem.status(raw, StoreLayout.format) == nil {
                throw StoreError(
                    .noStore, "the store has lost its directory \(name) and its file FORMAT")
            }
            // Where a group may write, another user's directory would lock out the maker of the store.
            let user = effectiveUser()
            if user != 0, let format = try fileSystem.status(raw, StoreLayout.format),
                format.owner != user, try fileSystem.status(raw).owner != user
            {
                throw StoreError(
                    .permission,
                    "the store has lost its directory \(name), which its owner's next command creates again"
                )
            }
            try fileSystem.makeDirectoryIfAbsent(raw, name)
            return try fileSystem.open(raw, name, .directory, mode: 0)
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

    private static func isWithoutObjects(
        _ fileSystem: any FileSystem, _ root: Int32
    ) throws(StoreError) -> Bool {
        guard
            let objects = try fileSystem.openIfPresent(root, StoreLayout.objects, .directory)
        else { return try fileSystem.status(root, StoreLayout.format) == nil }
        return try fileSystem.isEmpty(objects.raw)
    }
}
