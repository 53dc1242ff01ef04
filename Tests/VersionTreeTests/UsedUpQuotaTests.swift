import StorageTestSupport

@testable import VersionTree

/// A disk on which a quota is used up while the store's reserve is there: statvfs(3) shows free space.
private struct QuotaDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    let reserve: String
    /// The calls that need room; all of them if there are none.
    var only: Set<String> = []
    /// What must have got its name before; nothing if it is empty.
    var after = ""
    private let begins = Switch()

    init(reserve: String, only: Set<String> = [], after: String = "") {
        (self.reserve, self.only, self.after) = (reserve, only, after)
        if after.isEmpty { begin() }
    }

    /// From now on, the quota is used up.
    func begin() { begins.isOn.store(true, ordering: .relaxed) }

    private final class Switch: Sendable { let isOn = Atomic(false) }

    private func charge(_ call: String) throws(StoreError) {
        guard only.isEmpty || only.contains(call), begins.isOn.load(ordering: .relaxed) else {
            return
        }
        guard access(reserve, F_OK) == 0 else { return }
        throw StoreError(systemCall: call, errno: EDQUOT, path: "somewhere")
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        let makes = access == .creating || access == .updating
        if makes, try base.status(directory, path) == nil { try charge("openat") }
        return try base.open(directory, path, access, mode: mode)
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try charge("write")
        try base.write(file, bytes)
    }

    func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        try charge("write")
        try base.write(file, bytes, at: offset)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try charge("mkdirat")
        try base.makeDirectory(directory, path, mode: mode)
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try charge("symlinkat")
        try base.makeSymbolicLink(directory, path, to: target)
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.rename(source, sourcePath, to: target, targetPath)
        if String(cString: targetPath) == after { begin() }
    }

    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        if only.contains("unlinkat"), ObjectID(String(cString: path)) != nil {
            try charge("unlinkat")
        }
        try base.remove(directory, path, directory: isDirectory)
    }

    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        throw StoreError(systemCall: "posix_fallocate", errno: EDQUOT, path: "somewhere")
    }
}

// DESIGN.md, "Collecting": the reserve is there so that room can be made, and apps start, where there is none.
@Suite("A quota that is used up, which the disk does not show") struct UsedUpQuotaTests {
    @Test(arguments: [
        "retire", "collect", "activate", "activate later", "boot", "roll back", "protect", "trust",
    ])
    func `takes the reserve for what makes room, and for what starts the app`(
        _ verb: String
    ) throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "one"])
        for version in ["2", "3"] { try temporary.add(version, ["a": version]) }
        for version in ["1", "2"] {
            _ = try temporary.versions.activate(version)
            let boot = try temporary.versions.boot()
            _ = try temporary.versions.confirm(version, token: boot.token)
        }
        let reserve = temporary.path + "/reserve"
        expect(access(reserve, F_OK), equals: 0)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: QuotaDisk(reserve: reserve))
        switch verb {
        case "retire": try versions.retire("3")
        case "collect": try versions.store.collect()
        case "activate": _ = try versions.activate("3")
        case "activate later": try versions.activateAtNextBoot("3")
        case "boot":
            // The lock of the first start ever is made by it.
            unlink(temporary.path + "/leases/.start")
            _ = try versions.boot()
        case "roll back": _ = try versions.rollback(reason: "it is broken")
        case "protect": _ = try versions.protect("3")
        default: _ = try versions.changeTrust { $0.origins = [] }
        }
        let lifecycle = try versions.lifecycle()
        expect(
            lifecycle.current, equals: verb == "roll back" ? "1" : verb == "activate" ? "3" : "2")
        // When there is room again, it is set aside again.
        _ = try temporary.versions.store.collect()
        try expect(temporary.versions.check().findings, equals: [])
    }
    /// Versions 1 to 4 that were known good in turn; 4 is current.
    private func prepared() throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        for version in ["2", "3", "4"] { try temporary.add(version, ["a": version]) }
        for version in ["1", "2", "3", "4"] {
            _ = try temporary.versions.activate(version)
            let boot = try temporary.versions.boot()
            _ = try temporary.versions.confirm(version, token: boot.token)
        }
        return temporary
    }

    // The lifecycle, and the note that the index changes, are written; a directory is removed entry by entry.
    @Test(arguments: [("write", ""), ("write", "lifecycle.json"), ("unlinkat", ""), ("openat", "")])
    func `is met in the middle of a retirement, which leaves nothing`(
        _ call: String, _ after: String
    ) throws {
        let temporary = try prepared()
        let disk = QuotaDisk(
            reserve: temporary.path + "/reserve", only: [call], after: after)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        try versions.retire("1")
        let trees = try FileManager.default.contentsOfDirectory(
            atPath: temporary.path + "/versions")
        expect(trees.sorted(), equals: ["2", "3", "4"])
        try expect(temporary.versions.check().findings, equals: [])
    }

    @Test func `is met in the middle of a collection, which counts all that it removed`() throws {
        let temporary = try prepared()
        try temporary.versions.retire("1")
        let quarantined = temporary.path + "/quarantine/" + String(repeating: "0a", count: 32)
        try Data("kept".utf8).write(to: URL(filePath: quarantined))
        let disk = QuotaDisk(
            reserve: temporary.path + "/reserve", only: ["unlinkat"], after: "nothing")
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        var seen: [Int] = []
        let collected = try versions.store.collect {
            seen.append($0.objectCount)
            disk.begin()
        }
        expect(collected.objectCount, equals: 2)
        expect(seen, equals: seen.sorted())
        expect(seen.count, equals: 2)
    }

    // fsync(2) may say EDQUOT of what was written already; the first sync of the file, and that of its directory.
    @Test(arguments: [FileStatus.Kind.regular, .directory])
    func `is told by a sync, after which nothing is done twice`(_ kind: FileStatus.Kind) throws {
        let temporary = try prepared()
        let disk = SyncDisk(kind)
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(), fileSystem: disk)
        disk.isArmed.store(true, ordering: .relaxed)
        expectRefusal(.outOfSpace) { try versions.rollback(reason: "it is broken") }
        let lifecycle = try temporary.reopened().lifecycle()
        expect(lifecycle.current, equals: kind == .regular ? "4" : "3")
        expect(lifecycle.bad.count, equals: kind == .regular ? 0 : 1)
    }
}

/// A disk on which the first sync of the lifecycle, or of the directory that it is in, meets the quota.
private final class SyncDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    private let kind: FileStatus.Kind
    let isArmed = Atomic(false)
    private let hasName = Atomic(false)

    init(_ kind: FileStatus.Kind) { self.kind = kind }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.rename(source, sourcePath, to: target, targetPath)
        if String(cString: targetPath) == StoreLayout.lifecycle {
            hasName.store(true, ordering: .relaxed)
        }
    }

    func sync(_ file: Int32) throws(StoreError) {
        let isNext = kind == .regular || hasName.load(ordering: .relaxed)
        if isArmed.load(ordering: .relaxed), isNext, try base.status(file).kind == kind {
            isArmed.store(false, ordering: .relaxed)
            throw StoreError(systemCall: "fsync", errno: EDQUOT, path: "somewhere")
        }
        try base.sync(file)
    }
}
