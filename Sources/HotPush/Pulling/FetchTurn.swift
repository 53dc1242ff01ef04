package import CASStore
package import VersionTree

/// A pull's turn to fetch a release: one of several pulls fetches it, and the others wait and reuse what it fetched.
///
/// The fetching pull holds a lock (flock(2)) on `leases/.fetch-<address>`, so its turn ends with its process. A pull
/// that has waited for the store's lock timeout fetches as well; each still ends correctly.
final class FetchTurn {
    /// Whether another pull had the turn first, so that earlier plans are stale.
    let hasWaited: Bool
    private let versions: VersionStore
    private let name: String
    /// `nil` after the timeout.
    private var file: Descriptor?

    init(for offer: FoundRelease, _ basis: PullBasis) throws(StoreError) {
        let versions = basis.versions
        // Leftovers of killed pulls are harmless, and the next pull tries again.
        try? versions.store.removeDeadLocksOfPulls()
        let release =
            if let published = offer.published { published.manifest } else {
                try ObjectID(of: offer.release.received)
            }
        let name = StoreLayout.fetchLock(release)
        let fileSystem = versions.fileSystem
        let leases = versions.directories.leases.raw
        var options = versions.store.options
        let (first, second) = (options.isInterrupted, basis.options.isInterrupted)
        options.isInterrupted = { first() || second() }
        var hasWaited = false
        var held: Descriptor?
        while held == nil {
            let file = try versions.store.openLock(name)
            if try !fileSystem.lock(file.raw, exclusive: true) {
                if options.isInterrupted() { throw .interruptedPull }
                hasWaited = true
                do throws(StoreError) {
                    try fileSystem.waitForLock(file.raw, exclusive: true, options)
                } catch {
                    guard error.code == .locked else { throw error }
                    let holder = LockHolder.find(of: try fileSystem.status(file.raw))
                    options.notice(
                        "\(holder.description) still fetches the same release; fetching it as well")
                    break
                }
            }
            // The previous holder may have removed the file between open and lock.
            guard let here = try fileSystem.status(leases, name),
                here.isSameFile(as: try fileSystem.status(file.raw))
            else { continue }
            held = consume file
        }
        self.hasWaited = hasWaited
        self.versions = versions
        self.name = name
        file = held
    }

    deinit {
        guard let file = file.take() else { return }
        // A leftover file is harmless: the next process finds it unlocked.
        try? versions.fileSystem.removeIfPresent(versions.directories.leases.raw, name)
        versions.fileSystem.unlock(file.raw)
    }
}

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
