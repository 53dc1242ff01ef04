import CASStore
import Foundation
import StorageTestSupport

/// A disk with hardly any free space that would take writes all the same: what looks first sees it.
struct FullFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()

    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try base.freeSpace(file)
        space.available = 4096
        return space
    }
}
