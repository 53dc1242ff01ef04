package import CASStore

/// An object's open file, shared by all responses that send from it.
package final class OpenObject: ContentFile {
    private let reader: ObjectReader
    /// Set if this file is not the object's own but takes its place.
    let copied: Copied?

    /// Which file takes an object's place, and why; apart, because nearly no file is one, and thousands are open.
    final class Copied: Sendable {
        let name: String
        let failure: StoreError

        init(name: String, failure: StoreError) {
            self.name = name
            self.failure = failure
        }
    }

    init(_ reader: consuming ObjectReader, _ copied: Copied? = nil) {
        self.reader = reader
        self.copied = copied
    }

    package var address: ObjectID { reader.address }
    /// The file's size when it was opened.
    package var byteCount: Int64 { reader.byteCount }
    package var raw: Int32 { reader.file.raw }

    /// The file's present state; a write to the file changes the stamp.
    func currentStamp() throws(StoreError) -> FileStamp {
        FileStamp(try POSIXFileSystem().status(reader.file.raw))
    }

    /// Whether no name leads to the file any longer: only being open keeps it on disk.
    var isRemoved: Bool {
        // A file whose status cannot be read is no use either.
        guard let status = try? POSIXFileSystem().status(reader.file.raw) else { return true }
        return status.linkCount == 0
    }

    /// Reads all of it and compares it with its address.
    func verify() throws(StoreError) {
        try reader.forEachPiece { _ throws(StoreError) in }
    }

    /// The bytes of a small object, compared with its address.
    func verifiedBytes() throws(StoreError) -> [UInt8] {
        try reader.verifiedBytes()
    }

    package func shortened() -> StoreError {
        StoreError(
            .damagedObject,
            "object \(address) became shorter while it was sent; the connection was cut; "
                + "run castree fsck --repair", object: address)
    }
}

/// Shows whether a file has been written to; see `FileStatus.isUnchanged(since:)`.
struct FileStamp: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    let byteCount: Int64
    let modifiedAt: Int64
    let changedAt: Int64

    init(_ status: FileStatus) {
        device = status.device
        inode = status.inode
        byteCount = status.byteCount
        modifiedAt = status.modifiedAt
        changedAt = status.changedAt
    }
}
