import StorageTestSupport

@testable import Platform

/// An object that another program has changed, through whatever name of its file, is linked into no tree.
@Suite struct TouchedObjectTests {
    struct Touch: Sendable, CustomStringConvertible {
        var description: String
        var happen: @Sendable (String) throws -> Void
    }

    static let touches: [Touch] = [
        .init(description: "written, same length") { try Damage.flip($0, at: 1) },
        .init(description: "written, another length") {
            try Damage.overwrite($0, with: Array("another".utf8))
        },
        .init(description: "cut") { try Damage.truncate($0, to: 2) },
        .init(description: "grown") { try Damage.extend($0, by: [1, 2]) },
        .init(description: "replaced") { path in
            try FileManager.default.removeItem(atPath: path)
            try Data("first contenT".utf8).write(to: URL(filePath: path))
        },
        .init(description: "replaced by another object") { path in
            let other = try address(of: "second content").description
            let objects = URL(filePath: path).deletingLastPathComponent()
                .deletingLastPathComponent()
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.linkItem(
                atPath: objects.path + "/" + other.prefix(2) + "/" + other.dropFirst(2),
                toPath: path)
        },
    ]

    private func makeStore() throws -> (TemporaryStore, path: String) {
        let temporary = try TemporaryStore(adding: "1", RepairTests.files)
        return (temporary, try temporary.objectPath(of: "first content"))
    }

    @Test(arguments: touches)
    func `an add writes it anew`(_ touch: Touch) throws {
        let (temporary, path) = try makeStore()
        try touch.happen(path)
        try temporary.add("2", RepairTests.files.merging(["new": "new"]) { $1 })
        for file in [path, temporary.path + "/versions/2/a"] {
            try expect(String(contentsOfFile: file, encoding: .utf8), equals: "first content")
        }
        // Where the object's name was replaced alone, the tree has kept the right file.
        try expect(temporary.versions.check().findings.allSatisfy { $0.kind == .copiedInTree })
    }

    @Test(arguments: touches)
    func `no tree is built of it`(_ touch: Touch) throws {
        let (temporary, path) = try makeStore()
        let versions = temporary.versions
        try touch.happen(path)
        let target = temporary.directory.appending("checkout")
        for mode in [LinkMode.link, .copy, .reflink] {
            let code = #expect(throws: StoreError.self) {
                try versions.checkout("1", to: target, mode: mode)
            }?.code
            expect(code, equals: .damagedObject)
        }
        let code = #expect(throws: StoreError.self) {
            try versions.rebuildTree(of: versions.registeredManifest(of: "1"))
        }?.code
        expect(code, equals: .damagedObject)
    }

    @Test(arguments: touches)
    func `none of it is cloned, where a clone would not be read`(_ touch: Touch) throws {
        let temporary = try TemporaryStore(adding: "1", RepairTests.files)
        let versions = try temporary.opened(on: CloningFileSystem())
        let sound = try versions.checkout(
            "1", to: temporary.directory.appending("sound"), mode: .reflink)
        expect(sound.reflinked, equals: RepairTests.files.count)
        try touch.happen(temporary.objectPath(of: "first content"))
        let code = #expect(throws: StoreError.self) {
            try versions.checkout(
                "1", to: temporary.directory.appending("checkout"), mode: .reflink)
        }?.code
        expect(code, equals: .damagedObject)
        // An executable copy of it.
        let source = temporary.directory.appending("tool")
        try writeTree(source, ["tool": "second content"])
        try Damage.setMode(source + "/tool", 0o755)
        try Damage.flip(temporary.objectPath(of: "second content"), at: 1)
        try versions.add(directory: source, version: "2")
        try expect(
            String(contentsOfFile: temporary.path + "/versions/2/tool", encoding: .utf8),
            equals: "second content")
        let path = try temporary.objectPath(of: "second content")
        Damage.remove(path + ".x")
        try Damage.flip(path, at: 1)
        let rebuilt = #expect(throws: StoreError.self) {
            try versions.rebuildTree(of: versions.registeredManifest(of: "2"))
        }?.code
        expect(rebuilt, equals: .damagedObject)
    }

    @Test(arguments: [false, true])
    func `one that has lost its seal alone is read, sealed where that takes no space, and linked`(
        isLayered: Bool
    ) throws {
        let (temporary, path) = try makeStore()
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSince1970: 1_700_000_000)], ofItemAtPath: path)
        let address = try address(of: "first content")
        func isSealed() throws -> Bool {
            let status = try require(temporary.versions.store.objects.status(address))
            return ObjectDirectory.isSealed(status, address, status.byteCount)
        }
        try expect(!isSealed())
        let versions = try temporary.opened(
            on: isLayered ? LayeredFileSystem() : POSIXFileSystem())
        _ = try versions.checkout("1", to: temporary.directory.appending("checkout"))
        try versions.activateAndBoot("1")
        try expect(isSealed(), equals: !isLayered)
    }
}

/// One of layers, where a change of a file's times copies all of it (overlayfs).
private struct LayeredFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()

    func mount(of file: Int32) -> MountStatus? {
        MountStatus(kind: "overlay", isWritable: true, fileSystem: 1, number: 1)
    }
}

/// A file system whose files share their blocks: played by one that copies.
private struct CloningFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()

    func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        let bytes = try base.read(source, at: 0, count: 1 << 20)
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in
            try base.write(target, bytes)
        }
        return true
    }
}
