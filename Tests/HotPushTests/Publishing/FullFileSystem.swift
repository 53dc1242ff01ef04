import CASStore

/// A disk that would take writes although it says that it has no room: what looks first sees it.
struct FullFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    var room: @Sendable (inout FreeSpace) -> Void = { $0.available = 4096 }

    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try base.freeSpace(file)
        room(&space)
        return space
    }
}
