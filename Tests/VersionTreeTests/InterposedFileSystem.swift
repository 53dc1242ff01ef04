import StorageTestSupport

/// A file system that calls back before every operation, so that a test can let another process act
/// exactly there.
struct InterposedFileSystem: FileSystemWrapper {
    let base: any FileSystem
    private let before: @Sendable (_ verb: String, _ path: String) -> Void

    /// - Parameter before: called with the verb and the path as it is asked for, none of an open file.
    init(before: @escaping @Sendable (_ verb: String, _ path: String) -> Void) {
        self.before = before
        base = FaultyFileSystem { operation in
            before(operation.verb.rawValue, operation.name)
            return nil
        }
    }

    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        before("open", path)
        return try base.openBeneath(directory, path, access)
    }
}
