import CASStore
import HotPush

/// Where a publisher makes packs: a directory of its own in the origin's `.publish/`, or in the store's `packing/`.
///
/// Packing holds a shared lock which is not the origin's, so withdrawing a release never waits for its packs. The
/// next publisher that finds nobody packing removes what dead ones have left.
final class PackingPlace: Sendable {
    let fileSystem: any FileSystem
    /// The origin's `.publish/` or, for a bucket, a directory of the store.
    let publishing: Descriptor
    let name: Name
    let work: Descriptor
    private let workName: String
    private let lock: FileLock

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

    /// Removes frames that no delivery needs, unless somebody else is packing; the packs have this work's by now.
    func dropUnused(_ record: PackingRecord) throws(StoreError) {
        guard try lock.take() else { return }
        try Self.drop(record, publishing.raw, fileSystem)
    }

    /// Does the same when nothing was packed, and also removes what dead publishers have left.
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

    /// Removes all that packing keeps for the next release, unless somebody is packing.
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

    /// Removes what dead publishers have left, unless somebody is packing.
    /// - Parameter stays: gets what cannot be removed, and why.
    static func dropLeftovers(
        in publishing: Int32, _ fileSystem: any FileSystem,
        stays: (String, StoreError) -> Void = { _, _ in }
    ) throws(StoreError) {
        try whenAlone(publishing, fileSystem) { () throws(StoreError) in
            try dropLeftovers(publishing, fileSystem, stays)
        }
    }

    /// Calls `body`, unless somebody is packing or nobody ever did.
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
        // Anything else in its place is not castree's.
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
    /// - Returns: why it stays, which prevents no work; `nil` if it is gone.
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
    /// Whether a cache with this error can be ignored.
    var isOfCache: Bool { ![.outOfSpace, .outOfMemory, .interrupted].contains(code) }
}
