package import CASStore

/// A listed directory whose files are not yet read, so that a bad one is refused before a store is created.
package struct DirectoryListing: ~Copyable, Sendable {
    let root: Descriptor
    var files: SourceFiles
    let followsLinks: Bool
    package var isEmpty: Bool { files.count == 0 }

    /// - Parameters:
    ///   - followsLinks: take what symbolic links point to; otherwise refuse them.
    ///   - isInterrupted: polled; `true` stops with `.interrupted`.
    /// - Throws: `.notFound`; `.unsupportedFile`, `.badPath` with the path; `.permission`, `.interrupted`.
    package init(
        of path: String, followingLinks followsLinks: Bool = false, obeying rules: SourceRules,
        isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) throws(StoreError) {
        let fileSystem = POSIXFileSystem()
        let root = try Self.open(path, fileSystem)
        var walk = DirectoryWalk(
            fileSystem: fileSystem,
            checkInterruption: { () throws(StoreError) in
                if isInterrupted() { throw StoreError.interruption }
            }, storeRoot: nil, followsLinks: followsLinks, rules: rules,
            countMax: Manifest.countMax)
        let files = try walk.walk(root.raw)
        self.root = root
        self.files = files
        self.followsLinks = followsLinks
    }

    static func open(
        _ path: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            if error.isNotDirectory {
                throw StoreError(
                    .unsupportedFile,
                    "\(printable(path)) is not a directory; give the directory of a release",
                    cause: error.cause)
            }
            if error.code == .notFound {
                throw StoreError(
                    .notFound, "there is no directory \(printable(path))", cause: error.cause)
            }
            throw error
        }
    }
}
