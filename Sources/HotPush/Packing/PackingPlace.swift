import CASStore

/// Where a publisher makes packs: a directory of its own in the origin's `.publish/`.
///
/// Whoever packs holds a lock shared, and not the origin's: withdrawing a release never waits for its packs. What dead
/// publishers have left is removed by the next one that finds nobody packing.
final class PackingPlace: Sendable {
    let fileSystem: any FileSystem
    /// The origin's `.publish/`.
    let publishing: Descriptor
    /// The directory of this work.
    let work: Descriptor
    private let name: String
    private let lock: Descriptor

    /// - Parameter root: the origin.
    init(
        in root: Int32, _ fileSystem: any FileSystem, isInterrupted: () -> Bool
    ) throws(StoreError) {
        let publishing = try fileSystem.open(root, OriginLayout.work, .directory, mode: 0)
        let lock = try fileSystem.open(
            publishing.raw, OriginLayout.packingLock, .updating, mode: 0o666)
        if try fileSystem.lock(lock.raw, exclusive: true) {
            // Nobody packs.
            for left in try fileSystem.names(in: publishing.raw)
            where left.hasPrefix(OriginLayout.packingPrefix) {
                try fileSystem.removeTree(publishing.raw, left)
            }
        }
        while try !fileSystem.lock(lock.raw, exclusive: false) {
            if isInterrupted() { throw .packingInterrupted }
            // Somebody is cleaning up.
            pause(milliseconds: 5)
        }
        let name = OriginLayout.packingPrefix + (try randomToken())
        try fileSystem.makeDirectory(publishing.raw, name, mode: 0o777)
        work = try fileSystem.open(publishing.raw, name, .directory, mode: 0)
        self.fileSystem = fileSystem
        self.publishing = publishing
        self.name = name
        self.lock = lock
    }

    deinit {
        // The next publisher removes what cannot be removed now.
        try? fileSystem.removeTree(publishing.raw, name)
    }
}
