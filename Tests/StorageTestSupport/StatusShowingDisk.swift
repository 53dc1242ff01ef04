/// A disk that shows another status of its files than they have.
package protocol StatusShowingDisk: FileSystemWrapper {
    func shown(_ status: FileStatus) -> FileStatus
}

extension StatusShowingDisk {
    package func status(_ file: Int32) throws(StoreError) -> FileStatus {
        shown(try base.status(file))
    }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? { try base.status(directory, path).map(shown) }
}
