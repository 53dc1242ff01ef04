/// An open object for positional reads, closed at the end of its life.
///
/// It stays readable even if the object is collected meanwhile. Several threads may read at once.
public struct ObjectReader: ~Copyable, Sendable {
    /// The object's address.
    public let address: ObjectID
    /// Its size in bytes.
    public let byteCount: Int64
    package let file: Descriptor
    private let fileSystem: any FileSystem

    init(
        _ address: ObjectID, _ file: consuming Descriptor, _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let byteCount = try fileSystem.status(file.raw).byteCount
        self.address = address
        self.byteCount = byteCount
        self.file = file
        self.fileSystem = fileSystem
    }

    /// Opens a tree's file that should be an object, through no symbolic link, without checking its bytes.
    /// - Returns: `nil` if no regular file is there.
    package init?(
        _ address: ObjectID, at path: String, below directory: Int32,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        let file = try fileSystem.openBeneath(directory, path, .reading)
        guard try fileSystem.status(file.raw).kind == .regular else { return nil }
        try self.init(address, file, fileSystem)
    }

    /// Reads up to `count` bytes at `offset`; fewer at the end of the object, none beyond it.
    /// - Throws: `.damagedObject` when the disk cannot read it.
    public func read(at offset: Int64, count: Int) throws(StoreError) -> [UInt8] {
        let available = max(0, min(Int64(count), byteCount - offset))
        return try naming { () throws(StoreError) in
            try fileSystem.read(file.raw, at: offset, count: Int(available))
        }
    }

    /// The whole content, compared with the address.
    /// - Throws: `.tooLarge` beyond `limit` bytes; `.damagedObject` if the bytes do not match.
    package func verifiedBytes(limit: Int) throws(StoreError) -> [UInt8] {
        guard byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "object \(address) has \(byteCount) bytes, more than the \(limit) asked for",
                object: address)
        }
        let bytes = try read(at: 0, count: limit)
        var hasher = try ObjectHasher()
        let found = bytes.withUnsafeBytes { hasher.hash($0).address }
        guard found == address else { throw StoreError.damagedObject(address) }
        return bytes
    }

    /// Calls `body` with the bytes, piece by piece, in constant memory, and verifies the address at the end.
    /// - Throws: `.damagedObject` if they are unreadable or, after the last piece, do not match; what `body` throws.
    public func forEachPiece(
        _ body: (RawSpan) throws(StoreError) -> Void
    ) throws(StoreError) {
        var checker = try ObjectChecker()
        _ = try naming { () throws(StoreError) in
            try fileSystem.forEachPiece(of: file.raw, buffer: checker.buffer) {
                (piece) throws(StoreError) in
                checker.update(piece)
                try body(piece.bytes)
            }
        }
        guard checker.finish().address == address else { throw StoreError.damagedObject(address) }
    }

    /// Adds to an error from the disk which object it is about.
    private func naming<R>(_ read: () throws(StoreError) -> R) throws(StoreError) -> R {
        do throws(StoreError) {
            return try read()
        } catch {
            throw error.ifUnreadable {
                StoreError(
                    .damagedObject,
                    "object \(address) cannot be read: \($0); run castree fsck --repair",
                    object: address, cause: error.cause)
            }
        }
    }
}
