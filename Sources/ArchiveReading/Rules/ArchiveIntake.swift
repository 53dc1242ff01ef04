package import Platform
package import VersionTree

/// Takes the files of an archive, one after the other.
package protocol ArchiveIntake: AnyObject {
    func begin(_ path: TreePath, byteCount: Int64, isExecutable: Bool) throws(StoreError)
    func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
    func finish() throws(StoreError)
    /// Takes a file with the bytes and the mode of an earlier one.
    /// - Returns: its size; `nil` if the earlier one was not taken.
    func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64?
}

extension FileIntake: ArchiveIntake {}
