import CASStore

/// Where a publisher makes packs: a directory of its own in the origin's `.publish/`, or in the store's `packing/`.
///
/// Whoever packs holds a lock shared, and not the origin's: withdrawing a release never waits for its packs. What dead
/// publishers have left is removed by the next one that finds nobody packing.
final class PackingPlace: Sendable {
    let fileSystem: any FileSystem
    /// The origin's `.publish/`; for an origin in a bucket, a directory of the store.
    let publishing: Descriptor
    /// What it is called, for people.
    let name: Name
    /// The directory of this work.
    let work: Descriptor
    private let workName: String
    private let lock: PackingLock

    /// What the directory is called, for people.
    struct Name: Sendable {
        var path: String
        var owner: String
    }

    /// In the `.publish/` of an origin that is a directory.
    /// - Parameter root: the origin.
    convenience init(
        in root: Int32, _ fileSystem: any FileSystem, isInterrupted: () -> Bool
    ) throws(StoreError) {
        // A copy of an origin may come without it.
        try fileSystem.makeDirectoryIfAbsent(root, OriginLayout.work, mode: 0o777)
        let publishing = try fileSystem.open(root, OriginLayout.work, .directory, mode: 0)
        try self.init(
            publishing, Name(path: OriginLayout.work, owner: "the origin"), fileSystem,
            isInterrupted: isInterrupted)
    }

    /// - Parameters:
    ///   - publishing: the directory in which all publishers of the origin make packs.
    ///   - name: what it is called, for people.
    init(
        _ publishing: consuming Descriptor, _ name: Name, _ fileSystem: any FileSystem,
        isInterrupted: () -> Bool
    ) throws(StoreError) {
        let file = try fileSystem.open(
            publishing.raw, OriginLayout.packingLock, .updating, mode: 0o666)
        try fileSystem.closeLock(file.raw)
        let lock = PackingLock(file, fileSystem)
        if try lock.take(exclusive: true) {
            try Self.dropLeftovers(publishing.raw, fileSystem)
        }
        while try !lock.take(exclusive: false) {
            if isInterrupted() { throw .packingInterrupted }
            // Somebody is cleaning up.
            pause(milliseconds: 5)
        }
        let workName = OriginLayout.packingPrefix + (try randomToken())
        try fileSystem.makeDirectory(publishing.raw, workName, mode: 0o777)
        work = try fileSystem.open(publishing.raw, workName, .directory, mode: 0)
        self.workName = workName
        self.fileSystem = fileSystem
        self.publishing = publishing
        self.name = name
        self.lock = lock
    }

    /// Removes the frames and sketches that no delivery needs any more, unless somebody else packs.
    ///
    /// What this work made is in its packs by now.
    func dropUnused(_ record: PackingRecord) throws(StoreError) {
        guard try lock.take(exclusive: true) else { return }
        try Self.drop(record, publishing.raw, fileSystem)
    }

    /// The same where nothing was packed, and what dead publishers have left as well.
    static func dropUnused(
        in publishing: Int32, offered: Set<ObjectID>, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        guard let lock = try lockAlone(publishing, fileSystem) else { return }
        defer { withExtendedLifetime(lock) {} }
        try dropLeftovers(publishing, fileSystem)
        var record = try PackingRecord.read(publishing, fileSystem)
        let before = record
        record.works = record.works.filter { offered.contains($0.key) }
        if record != before { try record.write(publishing, aside: publishing, fileSystem) }
        try drop(record, publishing, fileSystem)
    }

    /// Removes all that packing keeps for the next release, unless somebody packs.
    /// - Returns: whether there was any.
    static func dropCaches(
        in publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        guard let lock = try lockAlone(publishing, fileSystem) else { return false }
        defer { withExtendedLifetime(lock) {} }
        var hasAny = false
        for name in [OriginLayout.frames, OriginLayout.sketches]
        where try fileSystem.status(publishing, name)?.kind == .directory {
            try fileSystem.removeTree(publishing, name)
            hasAny = true
        }
        return hasAny
    }

    /// Removes what dead publishers have left, unless somebody packs.
    /// - Parameter stays: gets what cannot be removed, and why.
    static func dropLeftovers(
        in publishing: Int32, _ fileSystem: any FileSystem,
        stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        guard let lock = try lockAlone(publishing, fileSystem) else { return }
        defer { withExtendedLifetime(lock) {} }
        try dropLeftovers(publishing, fileSystem, stays)
    }

    /// - Returns: `nil` if somebody packs, or nobody ever did.
    private static func lockAlone(
        _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> PackingLock? {
        guard
            let file = try fileSystem.openIfPresent(
                publishing, OriginLayout.packingLock, .changing)
        else { return nil }
        let lock = PackingLock(file, fileSystem)
        guard try lock.take(exclusive: true) else { return nil }
        return lock
    }

    private static func dropLeftovers(
        _ publishing: Int32, _ fileSystem: any FileSystem,
        _ stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        for left in try fileSystem.names(in: publishing)
        where left.hasPrefix(OriginLayout.packingPrefix) {
            if let reason = try fileSystem.removeLeftover(publishing, left) { stays(left, reason) }
        }
    }

    private static func drop(
        _ record: PackingRecord, _ publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        for (name, used) in [
            (OriginLayout.frames, record.frames), (OriginLayout.sketches, record.contents),
        ] {
            // What else stands there is nothing of ours.
            let opened = try fileSystem.cached { () throws(StoreError) in
                try OpenedDirectory.open(publishing, name, fileSystem)
            }
            guard let directory = opened else { continue }
            for name in try fileSystem.names(in: directory.raw) {
                if let address = ObjectID(name), used.contains(address) { continue }
                try fileSystem.removeTree(directory.raw, name)
            }
        }
    }

    deinit {
        // The next publisher removes what cannot be removed now.
        try? fileSystem.removeTree(publishing.raw, workName)
    }
}

extension FileSystem {
    /// Removes what a dead publisher has left.
    /// - Returns: why it stays, if it does: that keeps nobody from working.
    func removeLeftover(_ directory: Int32, _ name: String) throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            try removeTree(directory, name)
            return nil
        } catch {
            guard error.code == .io || error.code == .permission else { throw error }
            return error
        }
    }
}
