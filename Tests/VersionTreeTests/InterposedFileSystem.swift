import CASStore
import Foundation

/// A file system that calls back before every operation, so that a test can let another process act
/// exactly there.
struct InterposedFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    /// Called with the verb and the path, before it is done.
    let before: @Sendable (_ verb: String, _ path: String) -> Void

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        before("open", String(cString: path))
        return try base.open(directory, path, access, mode: mode)
    }

    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        before("open", path)
        return try base.openBeneath(directory, path, access)
    }

    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        before("read", "")
        return try base.read(file, into: buffer, at: offset)
    }

    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        before("write", "")
        try base.write(file, bytes)
    }

    func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        before("write", "")
        try base.write(file, bytes, at: offset)
    }

    func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        before("truncate", "")
        try base.truncate(file, to: byteCount)
    }

    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        before("reserve", "")
        try base.reserve(file, byteCount)
    }

    func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        before("setMode", "")
        try base.setMode(file, mode)
    }

    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        before("setMode", String(cString: path))
        try base.setMode(directory, path, mode)
    }

    func sync(_ file: Int32) throws(StoreError) {
        before("sync", "")
        try base.sync(file)
    }

    func syncAll(_ file: Int32) throws(StoreError) -> Bool {
        before("syncAll", "")
        return try base.syncAll(file)
    }

    func status(_ file: Int32) throws(StoreError) -> FileStatus {
        before("status", "")
        return try base.status(file)
    }

    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        before("status", String(cString: path))
        return try base.status(directory, path)
    }

    func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        before("link", String(cString: targetPath))
        try base.link(source, sourcePath, to: target, targetPath)
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        before("rename", String(cString: targetPath))
        try base.rename(source, sourcePath, to: target, targetPath)
    }

    func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        before("renameNew", String(cString: targetPath))
        try base.renameNew(source, sourcePath, to: target, targetPath)
    }

    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        before("remove", String(cString: path))
        try base.remove(directory, path, directory: isDirectory)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        before("makeDirectory", String(cString: path))
        try base.makeDirectory(directory, path, mode: mode)
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        before("makeSymbolicLink", String(cString: path))
        try base.makeSymbolicLink(directory, path, to: target)
    }

    func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        before("symbolicLink", String(cString: path))
        return try base.symbolicLink(directory, path)
    }

    func list(
        _ directory: Int32,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind) throws(StoreError) -> Bool
    ) throws(StoreError) {
        before("list", "")
        try base.list(directory, body)
    }

    func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        before("clone", "")
        return try base.clone(source, to: target)
    }

    func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        before("lock", "")
        return try base.lock(file, exclusive: exclusive)
    }

    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        before("freeSpace", "")
        return try base.freeSpace(file)
    }
}
