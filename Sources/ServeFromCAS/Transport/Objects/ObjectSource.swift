package import CASStore

/// Where the bytes of objects come from; called on loops' threads, several at once.
package protocol ObjectSource: Sendable {
    /// The content of an object that has `size` bytes.
    ///
    /// - Throws: `.missingObject`, `.damagedObject`, `.io`. Nothing of the object may be sent then.
    func content(of object: ObjectID, size: Int64) throws(StoreError) -> ObjectContent
}

/// The content of an object, ready to be sent.
package enum ObjectContent: Sendable {
    /// All of it, verified against its address.
    case memory([UInt8])
    /// Its file.
    case file(OpenObject)
}

/// An object's open file, shared by all that send from it.
package final class OpenObject: Sendable {
    private let reader: ObjectReader
    /// What the file was when it was opened.
    let status: FileStatus

    init(_ reader: consuming ObjectReader) throws(StoreError) {
        let status = try POSIXFileSystem().status(reader.file.raw)
        self.reader = reader
        self.status = status
    }

    package var address: ObjectID { reader.address }
    package var byteCount: Int64 { status.byteCount }
    var raw: Int32 { reader.file.raw }

    func currentStatus() throws(StoreError) -> FileStatus {
        try POSIXFileSystem().status(reader.file.raw)
    }

    /// Reads all of it and compares it with its address.
    func verify() throws(StoreError) {
        try reader.forEachPiece { _ throws(StoreError) in }
    }

    /// All of it, compared with its address; for small objects.
    func bytes() throws(StoreError) -> [UInt8] {
        let bytes = try reader.read(at: 0, count: Int(byteCount))
        var hasher = try ObjectHasher()
        let found = bytes.withUnsafeBytes { hasher.hash($0).address }
        guard found == address else {
            throw StoreError(
                .damagedObject,
                "the bytes of object \(address) do not match its address; "
                    + "run castree fsck --repair, then add or pull the content again",
                object: address)
        }
        return bytes
    }

    /// The error of a file that ended before its size.
    func shortened() -> StoreError {
        StoreError(
            .damagedObject,
            "object \(address) became shorter while it was sent; the connection was cut; "
                + "run castree fsck --repair", object: address)
    }
}
