package import CASStore
package import VersionTree

/// Reserves a name in a store for one thing that several processes may use at once.
///
/// A file in `leases/` holds the address of the thing. Every user locks it (flock(2)), so a lock ends with its process;
/// the last user removes the file. A process with another thing is refused meanwhile.
package final class SharedHold: Sendable {
    private let versions: VersionStore
    private let name: String
    private let file: Descriptor

    /// Reserves the name of a version for one release while it is fetched, by one or more processes.
    /// - Throws: `.versionExists` while another release is fetched under that name.
    convenience init(
        _ version: String, for release: ObjectID, _ versions: VersionStore
    ) throws(StoreError) {
        try self.init(StoreLayout.pullLock(version), release, versions) { _ in
            StoreError(
                .versionExists,
                "another release is being fetched under the name \(version); repeat the "
                    + "command when that has ended, or choose another name with --version")
        }
    }

    /// Reserves a store for updates from one channel of an origin, by one or more processes.
    ///
    /// Processes that update from different places would withdraw each other's versions endlessly, because neither
    /// channel lists the other's. Throws `.locked` while another process updates the store from elsewhere.
    package convenience init(
        updatesFrom origin: OriginReference, channel: String, _ versions: VersionStore
    ) throws(StoreError) {
        let channel = origin.channel?.description ?? channel
        let feed = try ObjectID(of: Array("\(origin.location.trustPlace)\n\(channel)".utf8))
        try self.init(StoreLayout.updatesLock, feed, versions) { holder in
            StoreError(
                .locked,
                "\(holder.description) keeps this store up to date from another origin or channel, and each would "
                    + "take away what the other brings: give both the same, or this one a store of its own"
            )
        }
    }

    private init(
        _ name: String, _ content: ObjectID, _ versions: VersionStore,
        _ refusal: (LockHolder) -> StoreError
    ) throws(StoreError) {
        let fileSystem = versions.fileSystem
        let leases = versions.directories.leases.raw
        while true {
            let file = try versions.store.openLock(name)
            if try fileSystem.lock(file.raw, exclusive: true) {
                try fileSystem.truncate(file.raw, to: 0)
                try fileSystem.write(file.raw, Array(content.description.utf8))
            }
            try versions.store.waitForLock(file.raw, exclusive: false)
            // Between open and lock the last user may have removed the file, or another process may have reserved it.
            let here = try fileSystem.status(leases, name)
            guard let here, here.isSameFile(as: try fileSystem.status(file.raw)) else { continue }
            let held = try fileSystem.read(file.raw, at: 0, count: 64)
            guard held.elementsEqual(content.description.utf8) else {
                fileSystem.unlock(file.raw)
                throw refusal(LockHolder.find(of: here))
            }
            self.versions = versions
            self.name = name
            self.file = file
            return
        }
    }

    deinit {
        let fileSystem = versions.fileSystem
        // A leftover file is harmless: the next process finds it unlocked.
        if (try? fileSystem.lock(file.raw, exclusive: true)) == true {
            try? fileSystem.removeIfPresent(versions.directories.leases.raw, name)
        }
    }
}
