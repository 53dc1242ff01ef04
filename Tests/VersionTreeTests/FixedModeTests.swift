import StorageTestSupport

// File systems on which chmod(2) says that it succeeded, and changes nothing (ntfs-3g, SMB, WSL's drives).

@Suite struct FixedModeTests {
    /// A file system that may have one mode for all files.
    private final class Modes: StatusShowingDisk {
        let base: any FileSystem = POSIXFileSystem()
        /// Whether no name's mode changes, or no file's either.
        let areIgnoredByName = Atomic(false)
        let areFixed: Bool

        init(areFixed: Bool) { self.areFixed = areFixed }

        func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
            if !areFixed { try base.setMode(file, mode) }
        }

        func setMode(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
        ) throws(StoreError) {
            if areFixed || areIgnoredByName.load(ordering: .relaxed) { return }
            try base.setMode(directory, path, mode)
        }

        func shown(_ status: FileStatus) -> FileStatus {
            var status = status
            if areFixed { status.mode = 0o755 }
            return status
        }
    }

    private let temporary: TemporaryStore
    private let notices = Notices()

    init() throws { temporary = try TemporaryStore() }

    private func store(on fileSystem: any FileSystem) throws -> VersionStore {
        let source = temporary.directory.appending("source")
        try writeTree(source, ["a": "one", "d/run": "#!two", "empty": ""])
        let versions = try VersionStore.open(
            temporary.path, options: StoreOptions(isDurable: false, notice: notices.sink),
            fileSystem: fileSystem)
        try versions.add(directory: source, version: "1")
        try versions.activate("1")
        return versions
    }

    @Test func `that give all files one mode are said once, and nothing is wrong there`() throws {
        let versions = try store(on: Modes(areFixed: true))
        for repairing in [false, true, false] {
            try expect(versions.check(repairing: repairing).findings, equals: [])
        }
        expect(
            notices.all.count == 1 && notices.all[0].contains("all files have one mode"),
            "\(notices.all)")
    }

    @Test func `a mode that stays wrong is not called repaired`() throws {
        let disk = Modes(areFixed: false)
        let versions = try store(on: disk)
        let object = try address(of: "one")
        try disk.base.setMode(
            versions.directories.objects.raw, StoreLayout.objectPath(object), 0o644)
        disk.areIgnoredByName.store(true, ordering: .relaxed)
        for _ in 1...2 {
            let found = try versions.check(repairing: true).findings
            expect(found.contains { $0.kind == .wrongMode && !$0.isRepaired }, "\(found)")
        }
        disk.areIgnoredByName.store(false, ordering: .relaxed)
        try expect(versions.check(repairing: true).findings.map(\.isRepaired), equals: [true])
        try expect(versions.check().findings, equals: [])
    }
}
