import StorageTestSupport

/// A file system that folds case and Unicode form, as those of macOS and Windows do: played by one
/// that does not, which is given every name in lower case and NFC.
struct FoldingFileSystem: FileSystemWrapper {
    /// The directory being imported: on another file system, which folds nothing.
    let sourcePath: String
    let base: any FileSystem = POSIXFileSystem()

    init(sourcePath: String) { self.sourcePath = sourcePath }

    private func folded(_ directory: Int32, _ path: UnsafePointer<CChar>) -> String {
        let text = String(cString: path)
        // Where the store itself lies is not ours to rename, and the source folds nothing.
        if directory == POSIXFileSystem.workingDirectory || text.hasPrefix("/") { return text }
        if POSIXFileSystem().path(of: directory).hasPrefix(sourcePath) { return text }
        return text.lowercased().precomposedStringWithCanonicalMapping
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        try base.open(directory, folded(directory, path), access, mode: mode)
    }

    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        try base.openBeneath(directory, folded(directory, path), access)
    }

    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) { try base.setMode(directory, folded(directory, path), mode) }

    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try base.status(directory, folded(directory, path))
    }

    func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.link(source, folded(source, sourcePath), to: target, folded(target, targetPath))
    }

    func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.rename(source, folded(source, sourcePath), to: target, folded(target, targetPath))
    }

    func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try base.renameNew(
            source, folded(source, sourcePath), to: target, folded(target, targetPath))
    }

    func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try base.remove(directory, folded(directory, path), directory: isDirectory)
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try base.makeDirectory(directory, folded(directory, path), mode: mode)
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try base.makeSymbolicLink(directory, folded(directory, path), to: target)
    }

    func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try base.symbolicLink(directory, folded(directory, path))
    }
}
