import CASStore
import VersionTree

/// Reserves the name of a version for one release while it is fetched.
///
/// Several processes may fetch one release at once: none needs to fetch what another has brought.
/// Meanwhile another release under the same name is refused; afterwards the name is free, or taken by
/// what has come.
///
/// `leases/.pull-<version>` holds the address of the received manifest. All processes that fetch it lock
/// it (flock(2)), so the lock ends with them; the last one removes the file.
final class VersionHold {
    private let versions: VersionStore
    private let name: String
    private let file: Descriptor

    /// - Throws: `.versionExists` while another release is fetched under that name.
    init(_ version: String, for release: ObjectID, _ versions: VersionStore) throws(StoreError) {
        let name = StoreLayout.pullLock(version)
        let fileSystem = versions.fileSystem
        let leases = versions.directories.leases.raw
        while true {
            let file = try versions.store.openLock(name)
            if try fileSystem.lock(file.raw, exclusive: true) {
                // Nobody is fetching under that name.
                try fileSystem.truncate(file.raw, to: 0)
                try fileSystem.write(file.raw, Array(release.description.utf8))
            }
            try versions.store.waitForLock(file.raw, exclusive: false)
            // Between open and lock the last one may have removed it; between the two locks, another
            // release may have been faster.
            let here = try fileSystem.status(leases, name)
            guard let here, here.isSameFile(as: try fileSystem.status(file.raw)) else { continue }
            let held = try fileSystem.read(file.raw, at: 0, count: 64)
            guard held.elementsEqual(release.description.utf8) else {
                throw StoreError(
                    .versionExists,
                    "another release is being fetched under the name \(version); repeat the "
                        + "command when that has ended, or choose another name with --version")
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
