package import Platform

/// The bytes of a write, in memory or in a file, with their address.
///
/// The address is signed as the payload's digest, so that the store can refuse other bytes.
package struct StorageBody: Sendable {
    enum Source: Sendable {
        case bytes([UInt8])
        case file(Int32)
    }

    let source: Source
    package let address: ObjectID
    package let byteCount: Int64

    package init(_ bytes: [UInt8]) throws(StoreError) {
        var digester = try Digester(.sha256)
        bytes.withUnsafeBytes { digester.update($0) }
        self.init(bytes, address: digester.finish { ObjectID(unchecked: $0) })
    }

    package init(_ bytes: [UInt8], address: ObjectID) {
        source = .bytes(bytes)
        self.address = address
        byteCount = Int64(bytes.count)
    }

    /// The first `byteCount` bytes of an open file, read at offsets: its position does not matter and does not move.
    /// - Parameter descriptor: must stay open, and the file unchanged, until the verb returns.
    package init(file descriptor: Int32, byteCount: Int64, address: ObjectID) {
        source = .file(descriptor)
        self.address = address
        self.byteCount = byteCount
    }

    /// Reads up to `buffer.count` bytes at an offset; 0 at the end.
    /// - Throws: what reading the file throws; `.damagedObject` if it has become shorter.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> Int {
        let count = Int(min(Int64(buffer.count), byteCount - offset))
        guard count > 0 else { return 0 }
        switch source {
        case .bytes(let bytes):
            bytes.withUnsafeBytes {
                buffer.copyMemory(from: .init(rebasing: $0[Int(offset)..<Int(offset) + count]))
            }
            return count
        case .file(let descriptor):
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
            let got = try fileSystem.read(descriptor, into: part, at: offset)
            guard got > 0 else { throw tooShort }
            return got
        }
    }

    /// All of them.
    /// - Throws: as ``read(into:at:_:)``.
    package func bytes(_ fileSystem: any FileSystem) throws(StoreError) -> [UInt8] {
        guard case .file(let descriptor) = source else {
            guard case .bytes(let bytes) = source else { return [] }
            return bytes
        }
        let bytes = try fileSystem.read(descriptor, at: 0, count: Int(byteCount))
        guard bytes.count == byteCount else { throw tooShort }
        return bytes
    }

    private var tooShort: StoreError {
        StoreError(
            .damagedObject,
            "the file of object \(address) has fewer than \(byteCount) bytes; run castree fsck --repair",
            object: address)
    }
}

/// The header fields that a file is stored and served with.
///
/// There are no encodings, user metadata, access lists or storage classes: the bucket's defaults count.
package struct StoredFields: Sendable, Hashable {
    package var contentType: String
    package var cacheControl: String

    /// Immutable bytes named by their address.
    package static let object = StoredFields(
        contentType: "application/octet-stream", cacheControl: immutable)
    /// Immutable JSON: manifests, places, versions of the trust.
    package static let document = StoredFields(
        contentType: "application/json", cacheControl: immutable)
    /// Copies that are overwritten: pointers, `channels.json`, `origin.json`.
    package static let pointer = StoredFields(
        contentType: "application/json", cacheControl: "no-cache")
    /// Entries of the log, and scratch, which only publishers read.
    package static let logEntry = StoredFields(
        contentType: "application/json", cacheControl: "private, no-store")

    private static let immutable = "public, max-age=31536000, immutable"
}
