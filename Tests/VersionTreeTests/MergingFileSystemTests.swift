import StorageTestSupport

// Twins where the file system merges them: refused by name, and nothing left behind.

/// An ext4 with case folding on a loop device, if this machine can.
private final class FoldingDisk: Sendable {
    let path: String?
    private let image: String

    init() {
        image = "/tmp/castree-fold-\(UUID().uuidString.prefix(8))"
        let mount = image + ".d"
        let isMounted =
            shell(
                "truncate -s 16M \(image) && mkfs.ext4 -q -O casefold \(image) && mkdir \(mount) "
                    + "&& mount -o loop \(image) \(mount) && mkdir \(mount)/f && chattr +F \(mount)/f"
            )
            == 0
        path = isMounted ? mount + "/f" : nil
        if !isMounted { shell("umount \(mount); rmdir \(mount); rm -f \(image)") }
    }

    deinit { shell("umount \(image).d; rmdir \(image).d; rm -f \(image)") }
}

/// Whether this kernel mounts ext4 with case folding (it needs CONFIG_UNICODE, and root).
private let canFold = FoldingDisk().path != nil

private let merged: [[String]] = [
    ["README", "readme"], ["caf\u{e9}", "cafe\u{301}"], ["Lib/x", "lib/y"], ["A/x", "a"],
    ["\u{212a}", "k"],
]

@Suite struct MergingFileSystemTests {
    @Test(arguments: merged)
    func `refuses twins where the file system merges them, and leaves nothing`(_ paths: [String])
        throws
    {
        let directory = TemporaryDirectory()
        let source = directory.appending("source")
        for path in paths { try writeFile(source + "/" + path, "content of \(path)") }
        let store = try VersionStore.create(
            at: directory.appending("store"),
            options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20),
            fileSystem: FoldingFileSystem(sourcePath: source))
        expectRefusal(.pathCollision, saying: "rename one of them") {
            try store.add(directory: source, version: "1")
        }
        try expect(store.versions().isEmpty)
        try expect(store.check().findings, equals: [])
        try expect(snapshot(directory.appending("store/staging")).isEmpty)
        try expect(snapshot(directory.appending("store/versions")).isEmpty)
    }

    @Test func `adds what has no twins to a file system that folds`() throws {
        let directory = TemporaryDirectory()
        let source = directory.appending("source")
        try writeFile(source + "/lib/a.js", "a")
        try writeFile(source + "/index.html", "i")
        let store = try VersionStore.create(
            at: directory.appending("store"),
            options: StoreOptions(isDurable: false, reservedByteCount: 1 << 20),
            fileSystem: FoldingFileSystem(sourcePath: source))
        try expect(store.add(directory: source, version: "1").files, equals: 2)
        try expect(store.check().findings, equals: [])
        try expect(contents(directory.appending("store/versions/1")), equals: contents(source))
    }

    @Test(.enabled(if: canFold, "this kernel mounts no ext4 with case folding"), arguments: merged)
    func `refuses twins on a disk that folds case`(_ paths: [String]) throws {
        let disk = FoldingDisk()
        guard let path = disk.path else { return }
        let directory = TemporaryDirectory()
        let source = directory.appending("source")
        for path in paths { try writeFile(source + "/" + path, "content of \(path)") }
        let store = try VersionStore.create(
            at: path + "/store", options: StoreOptions(reservedByteCount: 1 << 10)
        ).versions
        expectRefusal(.pathCollision) { try store.add(directory: source, version: "1") }
        try expect(store.versions().isEmpty)
        try expect(store.check().findings, equals: [])
    }
}
