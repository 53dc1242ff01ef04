/// A disk that would take writes although it says that it has no room: what looks first sees it.
package struct FullFileSystem: FileSystemWrapper {
    package let base: any FileSystem = POSIXFileSystem()
    private let room: @Sendable (inout FreeSpace) -> Void

    package init(
        _ room: @escaping @Sendable (inout FreeSpace) -> Void = { $0.available = 4096 }
    ) {
        self.room = room
    }

    package func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try base.freeSpace(file)
        room(&space)
        return space
    }
}
