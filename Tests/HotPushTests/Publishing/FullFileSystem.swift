import CASStore
import Foundation
import StorageTestSupport

/// A disk with hardly any free space, or with room for no more files, that would take writes all the same: what looks
/// first sees it.
struct FullFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    var lacksFiles = false

    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try base.freeSpace(file)
        if lacksFiles { space.files = 0 } else { space.available = 4096 }
        return space
    }
}
