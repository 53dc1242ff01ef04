public import CASStore

/// Keeps a version from being retired by any process while the pin lives.
///
/// A pin is a file in `leases/` that the process has locked (flock(2)), so it ends however the process ends. A server
/// holds one for every version that a page was loaded from.
public final class VersionPin: Sendable {
    /// The pinned version.
    public let version: String
    private let versions: VersionStore
    private let fileName: String
    private let file: Descriptor

    fileprivate init(
        _ version: String, _ versions: VersionStore, _ fileName: String,
        _ file: consuming Descriptor
    ) {
        self.version = version
        self.versions = versions
        self.fileName = fileName
        self.file = file
    }

    deinit {
        // If it cannot be removed now, the next look at the pins finds it unlocked and removes it.
        try? versions.fileSystem.removeIfPresent(versions.directories.leases.raw, fileName)
    }
}

extension VersionStore {
    /// Keeps a version from being retired until the pin is released.
    /// - Throws: `.noVersion`; `.readOnly`, `.permission`, `.outOfSpace` if no pin can be made: on a disk that cannot
    ///   be written nothing is retired either.
    public func pin(_ name: String) throws(StoreError) -> VersionPin {
        let version = try VersionName(name).description
        // Under the lifecycle lock: either a retirement sees the pin, or we see the version gone.
        return try withLifecycleLocked { () throws(StoreError) -> VersionPin in
            guard try hasManifest(version) else { throw StoreError.noVersion(name) }
            let leases = directories.leases.raw
            while true {
                let fileName = try StoreLayout.newPin(of: version)
                let file = try fileSystem.open(leases, fileName, .updating, mode: 0o600)
                // A process that looks at the pins may hold it for a moment.
                try store.waitForLock(file.raw, exclusive: true)
                // Before it was locked, an older castree may have removed it as a dead process's pin.
                guard let here = try fileSystem.status(leases, fileName),
                    here.isSameFile(as: try fileSystem.status(file.raw))
                else { continue }
                return VersionPin(version, self, fileName, file)
            }
        }
    }

    package func pinnedVersions() throws(StoreError) -> Set<String> {
        var pinned: Set<String> = []
        for (fileName, version) in try pinFiles() {
            if try isHeld(fileName) { pinned.insert(version) }
        }
        return pinned
    }

    /// Why pinned versions stay, for messages: how a page or a process uses each.
    package func pinReasons() throws(StoreError) -> [String: String] {
        var reasons: [String: String] = [:]
        for (fileName, version) in try pinFiles() {
            guard reasons[version] == nil, let user = try user(of: fileName), try isHeld(fileName)
            else { continue }
            reasons[version] = user
        }
        return reasons
    }

    /// A sentence that names the process behind a pin, which may have ended; `nil` for a server or an app.
    private func user(of fileName: String) throws(StoreError) -> String? {
        guard let file = try fileSystem.status(directories.leases.raw, fileName) else { return nil }
        let holder = LockHolder.find(of: file)
        if holder.process == nil {
            return "another process, which cannot be named here (in another container?), uses it"
        }
        guard !holder.isThis, let name = holder.name, Self.readingCommands.contains(name) else {
            return nil
        }
        return "\(holder.description) uses it"
    }

    /// Commands that pin a version while they read it.
    private static let readingCommands: Set<String> = [
        "publish", "pack", "checkout", "add", "adopt", "pull", "fsck", "du", "diff", "cat",
    ]

    /// Why a version is pinned, as a refusal, or `nil` if it is not; removes the pins of dead processes.
    ///
    /// The caller holds the lifecycle lock, so that no pin is made meanwhile.
    func pinRefusal(_ version: String) throws(StoreError) -> String? {
        for (fileName, pinned) in try pinFiles() where pinned == version {
            let user = try user(of: fileName)
            if try isHeld(fileName) {
                return user.map {
                    "\($0); repeat the command when that has finished"
                }
                    ?? "a server still shows it to a page; close the page, or stop the server, and repeat the command"
            }
            try store.passingOver(
                StoreLayout.leasePath(fileName),
                try self.fileSystem.removeIfPresent(self.directories.leases.raw, fileName))
        }
        return nil
    }

    /// Removes the pins of dead processes, of which a server that is killed every day leaves one every day.
    func removeDeadPins() throws(StoreError) {
        var hasDead = false
        for (fileName, _) in try pinFiles() where !hasDead { hasDead = try !isHeld(fileName) }
        guard hasDead else { return }
        // Under the lock no pin is made, so none is mistaken for a dead process's before it is locked.
        try withLifecycleLocked { () throws(StoreError) in
            for (fileName, _) in try self.pinFiles() where try !self.isHeld(fileName) {
                try self.store.passingOver(
                    StoreLayout.leasePath(fileName),
                    try self.fileSystem.removeIfPresent(self.directories.leases.raw, fileName))
            }
        }
    }

    /// Whether a process holds the pin with that file.
    /// - Parameter removesFree: whether to remove a file that is not locked.
    func isHeld(_ fileName: String, removingFree removesFree: Bool = false) throws(StoreError)
        -> Bool
    {
        let leases = directories.leases.raw
        let opened: Descriptor?
        do throws(StoreError) {
            opened = try fileSystem.openIfPresent(leases, fileName, .reading)
        } catch {
            // Another user's.
            guard error.isOfOneName else { throw error }
            return try store.isHeldUnopened(fileName)
        }
        guard let file = opened else { return false }
        // Shared: two processes that look at a dead process's pin must not take each other for its holder.
        guard try fileSystem.lock(file.raw, exclusive: removesFree) else { return true }
        // A process that waits for our lock checks the name and starts over; a file that stays is harmless.
        if removesFree { try? fileSystem.removeIfPresent(leases, fileName) }
        return false
    }

    private func pinFiles() throws(StoreError) -> [(fileName: String, version: String)] {
        try fileSystem.names(in: directories.leases.raw).compactMap { name in
            StoreLayout.version(pinnedBy: name).map { (name, $0) }
        }
    }
}

/// A use of the store by a process at this moment.
package struct StoreUse: Sendable, Hashable {
    package enum Kind: String, Sendable, Hashable {
        /// Keeps a version for pages that show it.
        case shows
        case fetches
        /// Watches a start until it is confirmed or rolled back.
        case watches
        /// Writes: an import, a download, a repair.
        case writes
    }

    package var kind: Kind
    package var version: String?
    /// The process, as far as the kernel tells.
    package var holder: LockHolder
}

extension VersionStore {
    /// The processes that use the store for longer than a moment, sorted by version, as far as the kernel tells.
    ///
    /// Takes only the locks that tell whether a pin is held.
    package func uses() throws(StoreError) -> [StoreUse] {
        var uses: Set<StoreUse> = []
        for name in try fileSystem.names(in: directories.leases.raw) {
            guard let (kind, version) = Self.use(of: name) else { continue }
            // The pin of a killed server stays behind, unlocked.
            var isShown = false
            if kind == .shows { isShown = try isHeld(name) }
            if kind == .shows, !isShown { continue }
            // A lock that has ended since is not in use.
            guard let file = try fileSystem.status(directories.leases.raw, name) else { continue }
            let holder = LockHolder.find(of: file)
            guard holder.process != nil || isShown else { continue }
            uses.insert(StoreUse(kind: kind, version: version, holder: holder))
        }
        return uses.sorted {
            ($0.version ?? "", $0.kind.rawValue, $0.holder.process ?? 0)
                < ($1.version ?? "", $1.kind.rawValue, $1.holder.process ?? 0)
        }
    }

    /// The use behind a lock in `leases/`; `nil` for locks that are held only for a moment.
    private static func use(of name: String) -> (StoreUse.Kind, version: String?)? {
        if let version = StoreLayout.version(pinnedBy: name) { return (.shows, version) }
        if let version = StoreLayout.version(pulledBy: name) { return (.fetches, version) }
        if name == StoreLayout.startLock { return (.watches, nil) }
        return name.hasPrefix(".") ? nil : (.writes, nil)
    }
}
