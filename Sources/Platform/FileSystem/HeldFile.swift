/// A file or directory that is held open, with its locks; no other file gets its inode number meanwhile.
package final class HeldFile: Sendable {
    private let descriptor: Descriptor

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    package var raw: Int32 { descriptor.raw }

    package func isSameFile(
        as other: FileStatus, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        try fileSystem.status(descriptor.raw).isSameFile(as: other)
    }
}
