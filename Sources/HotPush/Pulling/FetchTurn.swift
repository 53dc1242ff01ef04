import CASStore
import VersionTree

/// A pull's turn to fetch a release: where several pulls of a store want one at once, one fetches it and the others wait,
/// and then find here what it has brought.
///
/// `leases/.fetch-<address>` is locked by the one that fetches (flock(2)), so its turn ends with it, however it ends;
/// the next one goes on with what is here by then. Nobody waits longer than the store's options allow: then several
/// fetch, and each ends right.
final class FetchTurn {
    /// Whether somebody else had the turn first: plans that were made before are out of date.
    let hasWaited: Bool
    private let versions: VersionStore
    private let name: String
    /// `nil` for who has waited long enough.
    private var file: Descriptor?

    /// Takes the turn; waits for who has it.
    /// - Throws: `.interrupted`; what opening and locking throws.
    init(
        of release: ObjectID, _ versions: VersionStore,
        isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) {
        let name = StoreLayout.fetchLock(release)
        let fileSystem = versions.fileSystem
        let leases = versions.directories.leases.raw
        var options = versions.store.options
        options.isInterrupted = isInterrupted
        var hasWaited = false
        var held: Descriptor?
        while held == nil {
            let file = try versions.store.openLock(name)
            if try !fileSystem.lock(file.raw, exclusive: true) {
                if isInterrupted() { throw .interruptedPull }
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
            // Between open and lock the one before may have removed it.
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
        // A file that stays means nothing: the next process finds it unlocked.
        try? versions.fileSystem.removeIfPresent(versions.directories.leases.raw, name)
        versions.fileSystem.unlock(file.raw)
    }
}

extension Pull {
    /// Waits until no other pull fetches the same release.
    func takeTurn(for offer: FoundRelease) throws(StoreError) -> FetchTurn {
        // Those of pulls that were killed mean nothing, and the next pull tries again.
        try? versions.store.removeDeadLocksOfPulls()
        let (first, second) = (versions.store.options.isInterrupted, options.isInterrupted)
        let release: ObjectID =
            if let published = offer.published {
                published.manifest
            } else {
                try ObjectID(of: offer.release.received)
            }
        return try FetchTurn(of: release, versions) { first() || second() }
    }
}
