/// A file system that forwards every call to `base`; a conforming type overrides some of them.
package protocol FileSystemWrapper: FileSystem {
    var base: any FileSystem { get }
}

extension FileSystemWrapper {
    package func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        try base.open(directory, path, access, mode: mode)
    }

    package func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        try base.openBeneath(directory, path, access)
    }

    package func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        try base.read(file, into: buffer, at: offset)
    }

    package func write(_ file: Int32, _ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try base.write(file, bytes)
    }

    package func write(
        _ file: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64
    ) throws(StoreError) {
        try base.write(file, bytes, at: offset)
    }

    package func truncate(_ file: Int32, to byteCount: Int64) throws(StoreError) {
        try base.truncate(file, to: byteCount)
    }

    package func reserve(_ file: Int32, _ byteCount: Int64) throws(StoreError) {
        try base.reserve(file, byteCount)
    }

    package func map(
        _ file: Int32, byteCount: Int, isWritable: Bool
    ) throws(StoreError) -> MappedFile {
        try base.map(file, byteCount: byteCount, isWritable: isWritable)
    }

    package func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try base.setMode(file, mode)
    }

    package func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try base.setMode(directory, path, mode)
    }

    package func setOwner(_ file: Int32, _ user: UInt32, group: UInt32) throws(StoreError) {
        try base.setOwner(file, user, group: group)
    }

    package func setModified(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ nanoseconds: Int64
    ) throws(StoreError) {
        try base.setModified(directory, path, nanoseconds)
    }

    package func sync(_ file: Int32) throws(StoreError) { try base.sync(file) }

    package func sync(
        _ directory: Int32, _ path: UnsafePointer<CChar>,
        by library: () throws(StoreError) -> Void
    ) throws(StoreError) {
        try base.sync(directory, path, by: library)
    }

    package func syncAll(_ file: Int32) throws(StoreError) -> Bool { try base.syncAll(file) }

    package func status(_ file: Int32) throws(StoreError) -> FileStatus { try base.status(file) }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try base.status(directory, path)
    }

    package func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.link(source, sourcePath, to: target, targetPath)
    }

    package func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.rename(source, sourcePath, to: target, targetPath)
    }

    package func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.renameNew(source, sourcePath, to: target, targetPath)
    }

    package func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try base.remove(directory, path, directory: isDirectory)
    }

    package func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try base.makeDirectory(directory, path, mode: mode)
    }

    package func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try base.makeSymbolicLink(directory, path, to: target)
    }

    package func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try base.symbolicLink(directory, path)
    }

    package func list(
        _ directory: Int32, once: Bool,
        _ body: (UnsafePointer<CChar>, FileStatus.Kind, UInt64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        try base.list(directory, once: once, body)
    }

    package func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        try base.clone(source, to: target)
    }

    package func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        try base.lock(file, exclusive: exclusive)
    }

    package func unlock(_ file: Int32) { base.unlock(file) }

    package func freeSpace(_ file: Int32) throws(StoreError) -> FreeSpace {
        try base.freeSpace(file)
    }

    package func mount(of file: Int32) -> MountStatus? { base.mount(of: file) }

    package func isOpenForWriting(_ file: Int32) -> Bool? { base.isOpenForWriting(file) }
}
