/// A disk that would take writes although it says that it has no space: what looks first sees it.
package struct FullFileSystem: FileSystemWrapper {
    package let base: any FileSystem = POSIXFileSystem()
    private let change: @Sendable (inout FreeSpace) -> Void

    package init(
        _ change: @escaping @Sendable (inout FreeSpace) -> Void = { $0.available = 4096 }
    ) {
        self.change = change
    }

    package func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try base.freeSpace(file)
        change(&space)
        return space
    }
}
