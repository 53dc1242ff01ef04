/// A file that is held open, so that no other file gets its number meanwhile.
package final class HeldFile: Sendable {
    private let descriptor: Descriptor

    package init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }

    /// Whether this is the file that was looked at.
    package func isSameFile(
        as other: FileStatus, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Bool {
        try fileSystem.status(descriptor.raw).isSameFile(as: other)
    }
}
