import StorageTestSupport

@testable import CASStore
@testable import Platform

/// The stat cache counts only where the kernel's own stamp proves that a file is as it was: on file systems
/// that are known to stamp every change, mounted writable, and within one mount and one boot.
@Suite struct SourceMountTests {
    /// A disk whose mount, boot and change times are as a test says.
    private struct Ground: StatusShowingDisk {
        var base: any FileSystem { POSIXFileSystem() }
        let mount: MountStatus?
        var boot: String? = nil
        var changedAt: Int64? = nil
        var asked = Shared(0)

        func mount(of file: Int32) -> MountStatus? {
            asked.with { $0 += 1 }
            return mount
        }

        func shown(_ status: FileStatus) -> FileStatus {
            var status = status
            if let changedAt, status.byteCount == 7 { status.changedAt = changedAt }
            return status
        }

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            let isBoot = String(cString: path) == "/proc/sys/kernel/random/boot_id"
            guard isBoot, let boot else {
                return try base.open(directory, path, access, mode: mode)
            }
            return try base.open(directory, boot, access, mode: mode)
        }
    }

    private static func told(
        _ kind: String, isWritable: Bool = true, fileSystem: UInt64 = 1, number: UInt64 = 1
    ) -> MountStatus {
        MountStatus(kind: kind, isWritable: isWritable, fileSystem: fileSystem, number: number)
    }

    /// A store, a source that is old enough to be believed, and a name of a boot.
    private struct Scene {
        let temporary: TemporaryStore
        let source: String
        let boot: String
        var version = 0

        init(files: Int = 1) throws {
            temporary = try TemporaryStore()
            source = temporary.directory.appending("source")
            for number in 0..<files { try writeFile(source + "/f\(number)", "content") }
            boot = temporary.directory.appending("boot")
            try writeFile(boot, "a boot\n")
            let last = try require(try VersionTreeTests.status(source + "/f\(files - 1)"))
            while last.isRacy(at: nanosecondsNow()) { sched_yield() }
        }

        /// How many files the next add reads.
        mutating func reads(_ ground: Ground) throws -> Int {
            var ground = ground
            if ground.boot == nil { ground.boot = boot }
            let versions = try temporary.opened(on: ground)
            let total = Shared(0)
            var options = AddOptions()
            options.progress = { progress in total.with { $0 = progress.filesTotal } }
            version += 1
            _ = try versions.add(directory: source, version: "\(version)", options: options)
            return total.with { $0 }
        }
    }

    @Test(arguments: ["ext4", "xfs", "btrfs", "f2fs", "zfs", "apfs"])
    func `believes a file system that stamps every change`(kind: String) throws {
        var scene = try Scene()
        try expect(scene.reads(Ground(mount: Self.told(kind))), equals: 1)
        try expect(scene.reads(Ground(mount: Self.told(kind))), equals: 0)
    }

    @Test(arguments: [
        "tmpfs", "overlay", "squashfs", "fuse", "nfs", "0x1021994", "0x794c7630", "0x65735546",
        "0x73717368", "0x6969", "0xff534d42", "0x4d44", "0x2011bab0", "0xe0f5e1e2", "",
    ])
    func `reads every file on any other, every time`(kind: String) throws {
        var scene = try Scene()
        for _ in 0..<2 { try expect(scene.reads(Ground(mount: Self.told(kind))), equals: 1) }
    }

    @Test func `reads every file of what is mounted read-only, or is not told`() throws {
        var scene = try Scene()
        try expect(scene.reads(Ground(mount: Self.told("ext4"))), equals: 1)
        try expect(scene.reads(Ground(mount: Self.told("ext4", isWritable: false))), equals: 1)
        try expect(scene.reads(Ground(mount: nil)), equals: 1)
        try expect(
            scene.reads(Ground(mount: Self.told("ext4"), boot: "/nowhere/at/all")), equals: 1)
        try expect(scene.reads(Ground(mount: Self.told("ext4"))), equals: 0)
    }

    @Test func `reads again what it read on another mount, file system or boot`() throws {
        var scene = try Scene()
        let first = Ground(mount: Self.told("ext4"))
        try expect(scene.reads(first), equals: 1)
        for other in [
            Self.told("ext4", number: 2), Self.told("ext4", fileSystem: 2), Self.told("xfs"),
        ] {
            try expect(scene.reads(Ground(mount: other)), equals: 1)
            try expect(scene.reads(Ground(mount: other)), equals: 0)
        }
        try expect(scene.reads(first), equals: 1)
        try expect(scene.reads(first), equals: 0)
        try writeFile(scene.boot, "another boot\n")
        try expect(scene.reads(first), equals: 1)
        try expect(scene.reads(first), equals: 0)
    }

    @Test func `never believes a change time that no clock has stamped`() throws {
        var scene = try Scene()
        let whole = Ground(mount: Self.told("ext4"), changedAt: 1_600_000_000 * 1_000_000_000)
        for _ in 0..<2 { try expect(scene.reads(whole), equals: 1) }
        let fine = Ground(mount: Self.told("ext4"), changedAt: 1_600_000_000 * 1_000_000_000 + 1)
        try expect(scene.reads(fine), equals: 1)
        try expect(scene.reads(fine), equals: 0)
    }

    @Test func `asks once for a device, however many files there are`() throws {
        var scene = try Scene(files: 50)
        let ground = Ground(mount: Self.told("ext4"))
        try expect(scene.reads(ground), equals: 50)
        try expect(scene.reads(ground), equals: 0)
        expect(ground.asked.with { $0 }, equals: 2)
    }

    @Test func `never takes one of many mounts for another`() throws {
        var scene = try Scene()
        for number in 1...70 {
            let ground = Ground(mount: Self.told("ext4", number: UInt64(number)))
            try expect(scene.reads(ground), equals: 1)
        }
        try expect(scene.reads(Ground(mount: Self.told("ext4", number: 70))), equals: 0)
        try expect(scene.reads(Ground(mount: Self.told("ext4", number: 1))), equals: 1)
    }

    @Test func `tells what the place of the tests is`() throws {
        let temporary = TemporaryDirectory()
        let directory = try POSIXFileSystem().open(
            POSIXFileSystem.workingDirectory, temporary.path, .directory, mode: 0)
        let status = try require(POSIXFileSystem().mount(of: directory.raw))
        expect(!status.kind.isEmpty && status.isWritable && status.number != 0)
        expect(POSIXFileSystem().mount(of: directory.raw), equals: status)
    }
}
