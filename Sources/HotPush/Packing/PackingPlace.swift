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
    private let lock: FileLock

    /// What the directory is called, for people.
    struct Name: Sendable {
        var path: String
        var owner: String
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
        let lock = FileLock(file, fileSystem)
        if try lock.take() {
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

    /// Removes the frames that no delivery needs any more, unless somebody else packs.
    ///
    /// What this work made is in its packs by now.
    func dropUnused(_ record: PackingRecord) throws(StoreError) {
        guard try lock.take() else { return }
        try Self.drop(record, publishing.raw, fileSystem)
    }

    /// The same where nothing was packed, and what dead publishers have left as well.
    static func dropUnused(
        in publishing: Int32, offered: Set<ObjectID>, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            try dropLeftovers(publishing, fileSystem)
            var record = try PackingRecord.read(publishing, fileSystem)
            let before = record
            record.works = record.works.filter { offered.contains($0.key) }
            if record != before { try record.write(publishing, aside: publishing, fileSystem) }
            try drop(record, publishing, fileSystem)
        }
    }

    /// Removes all that packing keeps for the next release, unless somebody packs.
    /// - Returns: whether there was any.
    static func dropCaches(
        in publishing: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        var hasAny = false
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            for name in [OriginLayout.frames, OriginLayout.sketches] {
                if try dropDirectory(publishing, name, fileSystem) { hasAny = true }
            }
        }
        return hasAny
    }

    private static func dropDirectory(
        _ publishing: Int32, _ name: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        guard try fileSystem.status(publishing, name)?.kind == .directory else { return false }
        try fileSystem.removeTree(publishing, name)
        return true
    }

    /// Removes what dead publishers have left, unless somebody packs.
    /// - Parameter stays: gets what cannot be removed, and why.
    static func dropLeftovers(
        in publishing: Int32, _ fileSystem: any FileSystem,
        stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            try dropLeftovers(publishing, fileSystem, stays)
        }
    }

    /// Does something unless somebody packs, or nobody ever did.
    private static func whenAlone(
        _ publishing: Int32, _ fileSystem: any FileSystem, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        guard
            let file = try fileSystem.openIfPresent(
                publishing, OriginLayout.packingLock, .changing)
        else { return }
        let lock = FileLock(file, fileSystem)
        defer { withExtendedLifetime(lock) {} }
        if try lock.take() { try body() }
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
        _ = try dropDirectory(publishing, OriginLayout.sketches, fileSystem)
        // What else stands there is nothing of ours.
        let opened = try allowing(
            \.isOfCache, try OpenedDirectory.open(publishing, OriginLayout.frames, fileSystem))
        guard let directory = opened else { return }
        let used = record.frames
        for name in try fileSystem.names(in: directory.raw) {
            if let address = ObjectID(name), used.contains(address) { continue }
            try fileSystem.removeTree(directory.raw, name)
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

extension StoreError {
    /// Whether a cache in which this happened can be left alone.
    var isOfCache: Bool { ![.outOfSpace, .outOfMemory, .interrupted].contains(code) }
}
