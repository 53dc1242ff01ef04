package import CASStore
package import VersionTree

/// Reserves a name in a store for one thing, which several processes may have at once.
///
/// A file in `leases/` holds the address of that thing. All who have it lock the file (flock(2)), so the lock ends with
/// them; the last one removes the file. Who comes with another thing meanwhile is refused.
package final class SharedHold: Sendable {
    private let versions: VersionStore
    private let name: String
    private let file: Descriptor

    /// Reserves the name of a version for one release while it is fetched.
    ///
    /// Several processes may fetch one release at once: none needs to fetch what another has brought. Afterwards the name
    /// is free, or taken by what has come.
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

    /// Reserves a store for the updates of one channel of an origin.
    ///
    /// Several processes may keep it up to date from there. From elsewhere each would take away what another brings,
    /// without end, since its channel does not list that.
    /// - Throws: `.locked` while another process keeps it up to date from elsewhere.
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
                // Nobody has it.
                try fileSystem.truncate(file.raw, to: 0)
                try fileSystem.write(file.raw, Array(content.description.utf8))
            }
            try versions.store.waitForLock(file.raw, exclusive: false)
            // Between open and lock the last one may have removed it; between the two locks, somebody else may have been
            // faster.
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
        // A file that stays means nothing: the next process finds it unlocked.
        if (try? fileSystem.lock(file.raw, exclusive: true)) == true {
            try? fileSystem.removeIfPresent(versions.directories.leases.raw, name)
        }
    }
}
