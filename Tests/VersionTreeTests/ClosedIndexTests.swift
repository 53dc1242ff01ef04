import StorageTestSupport

/// SQLite locks the file of the index itself, so whoever may read it could keep its owner waiting.
@Suite("The index of a store") struct ClosedIndexTests {
    /// What an older castree made: everybody could read it.
    private struct OpenDisk: FileSystemWrapper {
        let base: any FileSystem = POSIXFileSystem()

        func open(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
        ) throws(StoreError) -> Descriptor {
            let isIndex = String(cString: path) == "index.sqlite"
            return try base.open(directory, path, access, mode: isIndex ? 0o644 : mode)
        }

        func setMode(
            _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
        ) throws(StoreError) {
            guard String(cString: path) != "index.sqlite" else { return }
            try base.setMode(directory, path, mode)
        }
    }

    @Test func `is closed to others, and an older castree's is closed by the next change`() throws {
        let temporary = try TemporaryStore()
        let (directory, path) = (temporary.directory, temporary.path)
        let index = path + "/index.sqlite"
        let notices = Notices()
        func options() -> StoreOptions {
            StoreOptions(
                isDurable: false, reservedByteCount: 0,
                notice: { text in notices.add(text) })
        }
        Damage.remove(index)
        for name in ["1", "2"] {
            try writeTree(directory.appending(name), ["a": name])
        }
        try VersionStore.open(path, options: options(), fileSystem: OpenDisk())
            .add(directory: directory.appending("1"), version: "1")
        notices.clear()
        try expect(Damage.mode(index) & 0o777, equals: 0o644)
        // Reading changes nothing.
        _ = try VersionStore.open(path, options: options()).versions()
        try expect(Damage.mode(index) & 0o777, equals: 0o644)
        try VersionStore.open(path, options: options())
            .add(directory: directory.appending("2"), version: "2")
        try expect(Damage.mode(index) & 0o777, equals: 0o600)
        try expect(
            VersionStore.open(path, options: options()).versions().map(\.version),
            equals: ["2", "1"])
        expect(notices.all, equals: [])
        Damage.remove(index)
        _ = try VersionStore.open(path, options: options()).check(repairing: true)
        try expect(Damage.mode(index) & 0o777, equals: 0o600)
    }
}
