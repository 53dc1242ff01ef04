import CASStore

/// A disk with hardly any free space that would take writes all the same: what looks first sees it.
final class FullFileSystem: FileSystem {
    private let disk = POSIXFileSystem()

    func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        var space = try disk.freeSpace(file)
        space.available = 4096
        return space
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        try disk.open(directory, path, access, mode: mode)
    }
    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        try disk.read(file, into: buffer, at: offset)
    }
    func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try disk.write(file, bytes)
    }
    func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        try disk.truncate(file, to: byteCount)
    }
    func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        try disk.reserve(file, byteCount)
    }
    func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try disk.setMode(file, mode)
    }
    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try disk.setMode(directory, path, mode)
    }
    func sync(_ file: Int32) throws(StoreError) { try disk.sync(file) }
    func syncAll(_ file: Int32) throws(StoreError) -> Bool { try disk.syncAll(file) }
    func status(_ file: Int32) throws(StoreError) -> FileStatus { try disk.status(file) }
    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try disk.status(directory, path)
    }
    func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>, to target: Int32,
        _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try disk.link(source, sourcePath, to: target, targetPath)
    }
    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>, to target: Int32,
        _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try disk.rename(source, sourcePath, to: target, targetPath)
    }
    func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>, to target: Int32,
        _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try disk.renameNew(source, sourcePath, to: target, targetPath)
    }
    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try disk.remove(directory, path, directory: isDirectory)
    }
    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try disk.makeDirectory(directory, path, mode: mode)
    }
    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try disk.makeSymbolicLink(directory, path, to: target)
    }
    func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try disk.symbolicLink(directory, path)
    }
    func list(
        _ directory: Int32,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try disk.list(directory, body)
    }
    func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        try disk.clone(source, to: target)
    }
    func lock(_ file: Int32, exclusive: Bool, waiting: Bool) throws(StoreError) -> Bool {
        try disk.lock(file, exclusive: exclusive, waiting: waiting)
    }
}
