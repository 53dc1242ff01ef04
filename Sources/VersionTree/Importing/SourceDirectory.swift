import CASStore

/// A directory of the source as it was before its entries were listed.
struct SourceDirectory: Sendable {
    var path: [UInt8]
    var status: FileStatus
}

extension SourceFiles {
    /// Refuses a source whose directories have changed since they were listed: files came, went or were replaced, and
    /// what was read would mix two releases.
    ///
    /// One call for each directory. Does not see a write into a file that has already been read.
    /// - Throws: `.changedWhileRead` with the path.
    func refuseChangedDirectories(
        _ root: Int32, followingLinks: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        for directory in directories {
            let path =
                directory.path.isEmpty ? "." : String(decoding: directory.path, as: UTF8.self)
            let status: FileStatus?
            if followingLinks {
                let open = try fileSystem.openIfPresent(root, path, .directoryFollowingLinks)
                status = if let open { try fileSystem.status(open.raw) } else { nil }
            } else {
                status = try fileSystem.status(root, path)
            }
            guard let status, status.isUnchanged(since: directory.status) else {
                throw StoreError(
                    .changedWhileRead,
                    "unable to add \"\(printable(path))\": files came, went or were replaced in it while it was "
                        + "read; wait until the release is written, then repeat the command")
            }
        }
    }
}
