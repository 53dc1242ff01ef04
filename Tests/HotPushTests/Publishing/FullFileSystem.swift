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

/// A disk on which the list of channels cannot get its name.
struct UnlistedDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>, to target: Int32,
        _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        if String(cString: targetPath) == "channels.json" {
            throw StoreError(systemCall: "renameat", errno: EIO, path: "channels.json")
        }
        try base.rename(source, sourcePath, to: target, targetPath)
    }
}
