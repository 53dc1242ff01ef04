package import CASStore

/// An object's open file, shared by all responses that send from it.
package final class OpenObject: ContentFile {
    private let reader: ObjectReader
    let copied: Copied?

    /// Which file replaces an object's, and why; a class, because hardly any of thousands of open files needs it.
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
    package var byteCount: Int64 { reader.byteCount }
    package var raw: Int32 { reader.file.raw }

    /// A write to the file changes the stamp.
    func currentStamp() throws(StoreError) -> FileStamp {
        FileStamp(try POSIXFileSystem().status(reader.file.raw))
    }

    /// Whether the file has no name any longer and exists only because it is open.
    var isRemoved: Bool {
        // A file whose status cannot be read is no use either.
        guard let status = try? POSIXFileSystem().status(reader.file.raw) else { return true }
        return status.linkCount == 0
    }

    func verify() throws(StoreError) {
        try reader.forEachPiece { _ throws(StoreError) in }
    }

    /// The bytes of a small object, compared with its address.
    func verifiedBytes() throws(StoreError) -> [UInt8] {
        try reader.verifiedBytes(limit: .max)
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

/// Where the files of objects are: in a store, or in an origin.
package protocol ObjectFiles: Sendable {
    func open(_ address: ObjectID) throws(StoreError) -> ObjectReader?
    /// The whole content of an object, compared with its address; `nil` if there is none.
    /// - Throws: `.damagedObject`; `.tooLarge` above `limit` bytes; `.io`.
    func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]?
    func missing(_ object: ObjectID) -> StoreError
}

extension ObjectFiles {
    package func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]? {
        guard let reader = try open(address) else { return nil }
        return try reader.verifiedBytes(limit: limit)
    }
}

extension Store: ObjectFiles {
    package func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(object) is not in the store; run castree fsck --repair, or pull the version "
                + "again", object: object)
    }
}
