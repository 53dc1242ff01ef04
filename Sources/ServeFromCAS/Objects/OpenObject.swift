package import CASStore

/// An object's open file, shared by all that send from it.
package final class OpenObject: ContentFile {
    private let reader: ObjectReader
    /// Set if it is another file than the object's own, which stands in its place.
    let copied: Copied?

    /// Which file stands in an object's place, and why.
    struct Copied: Sendable {
        var name: String
        var failure: StoreError
    }

    init(_ reader: consuming ObjectReader, _ copied: Copied? = nil) {
        self.reader = reader
        self.copied = copied
    }

    package var address: ObjectID { reader.address }
    /// When it was opened.
    package var byteCount: Int64 { reader.byteCount }
    package var raw: Int32 { reader.file.raw }

    /// What the file is now; another stamp once it has been written to.
    func currentStamp() throws(StoreError) -> FileStamp {
        FileStamp(try POSIXFileSystem().status(reader.file.raw))
    }

    /// Whether no name leads to the file any more: it is on the disk for those who have it open.
    var isRemoved: Bool {
        // A file whose status cannot be had is no use either.
        guard let status = try? POSIXFileSystem().status(reader.file.raw) else { return true }
        return status.linkCount == 0
    }

    /// Reads all of it and compares it with its address.
    func verify() throws(StoreError) {
        try reader.forEachPiece { _ throws(StoreError) in }
    }

    /// The bytes of a small one, compared with its address.
    func verifiedBytes() throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(byteCount))
        try reader.forEachPiece { piece throws(StoreError) in
            piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    package func shortened() -> StoreError {
        StoreError(
            .damagedObject,
            "object \(address) became shorter while it was sent; the connection was cut; "
                + "run castree fsck --repair", object: address)
    }
}

/// What tells whether a file has been written to; see `FileStatus.isUnchanged(since:)`.
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
