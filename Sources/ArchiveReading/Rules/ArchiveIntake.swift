package import Platform
package import VersionTree

/// Who takes the files of an archive, one after the other.
package protocol ArchiveIntake: AnyObject {
    /// Begins a file.
    func begin(_ path: TreePath, byteCount: Int64, isExecutable: Bool) throws(StoreError)
    /// Adds bytes to it.
    func append(_ bytes: UnsafeRawBufferPointer) throws(StoreError)
    /// Ends it.
    func finish() throws(StoreError)
    /// Takes a file with the bytes and the mode of an earlier one; its size, or `nil` if that was not taken.
    func link(_ path: TreePath, to earlier: TreePath) throws(StoreError) -> Int64?
}

extension FileIntake: ArchiveIntake {}
