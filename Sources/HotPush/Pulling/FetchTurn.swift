import CASStore
import VersionTree

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
