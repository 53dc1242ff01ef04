import CASStore

/// A directory held by reference, because there may be none.
final class OpenedDirectory: Sendable {
    private let descriptor: Descriptor

    var raw: Int32 { descriptor.raw }

    private init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Opens a directory; `nil` if nothing is there.
    ///
    /// The path that a user typed may lead through symbolic links, names inside it may not.
    static func open(
        _ parent: Int32, _ name: String, _ fileSystem: any FileSystem
    ) throws(StoreError) -> OpenedDirectory? {
        let access: Access =
            parent == POSIXFileSystem.workingDirectory ? .directoryFollowingLinks : .directory
        guard let opened = try fileSystem.openIfPresent(parent, name, access) else { return nil }
        return OpenedDirectory(opened)
    }
}
