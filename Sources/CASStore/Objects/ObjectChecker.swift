import Synchronization

/// A hasher and buffer for reading whole files; one per thread.
package struct ObjectChecker: ~Copyable {
    private var hasher: ObjectHasher
    private var fingerprinter: Fingerprinter
    package let buffer: UnsafeMutableRawBufferPointer
    var pace: ReadPace?

    /// Bytes read at a time: large enough that the call costs nothing, small enough for the cache.
    package static let bufferByteCount = 256 * 1024

    package init() throws(StoreError) {
        let hasher = try ObjectHasher()
        let fingerprinter = try Fingerprinter()
        self.hasher = hasher
        self.fingerprinter = fingerprinter
        buffer = .allocate(byteCount: Self.bufferByteCount, alignment: 4096)
    }

    deinit { buffer.deallocate() }

    /// The address, fingerprint and size of an open file; after a read error the state is reset.
    package mutating func hash(
        _ file: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> StoredObject {
        let byteCount: Int64
        do throws(StoreError) {
            byteCount = try fileSystem.forEachPiece(of: file, buffer: buffer) {
                (piece) throws(StoreError) in
                if let pace { try pace.spend(piece.count) }
                hasher.update(piece)
            }
        } catch {
            _ = hasher.finish()
            throw error
        }
        let (address, fingerprint) = hasher.finish()
        return StoredObject(address: address, byteCount: byteCount, fingerprint: fingerprint)
    }

    /// The fingerprint and size of an open file, at memory speed.
    package mutating func fingerprint(
        _ file: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> (fingerprint: Fingerprint, byteCount: Int64) {
        var count = try fileSystem.read(file, into: buffer, at: 0)
        if let pace { try pace.spend(count) }
        let first = UnsafeRawBufferPointer(rebasing: buffer[..<count])
        if count < buffer.count {
            // pread(2) of a regular file is short only at its end.
            return (Fingerprinter.fingerprint(first), Int64(count))
        }
        // What a read that failed has left.
        _ = fingerprinter.finish()
        fingerprinter.update(first)
        var offset = Int64(count)
        while true {
            count = try fileSystem.read(file, into: buffer, at: offset)
            if count == 0 { break }
            if let pace { try pace.spend(count) }
            fingerprinter.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return (fingerprinter.finish(), offset)
    }

    package mutating func hash(
        _ bytes: UnsafeRawBufferPointer
    ) -> (address: ObjectID, fingerprint: Fingerprint) {
        hasher.hash(bytes)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) { hasher.update(bytes) }

    package mutating func finish() -> (address: ObjectID, fingerprint: Fingerprint) {
        hasher.finish()
    }
}

/// Keeps the reads of all threads of a check below a rate.
package final class ReadPace: Sendable {
    private let limit: Mutex<RateLimit>
    private let began = ContinuousClock.now
    private let check: @Sendable () throws(StoreError) -> Void

    /// - Parameter check: called while a thread waits; what it throws ends the wait.
    package init(byteRate: Int64?, _ check: @escaping @Sendable () throws(StoreError) -> Void) {
        limit = Mutex(RateLimit(byteRate: byteRate))
        self.check = check
    }

    /// Counts bytes read, and waits until more may be.
    package func spend(_ count: Int) throws(StoreError) {
        var wait = limit.withLock { limit in
            limit.fill(at: (ContinuousClock.now - began).milliseconds)
            limit.take(count)
            return limit.wait
        }
        while wait > 0 {
            try check()
            pause(milliseconds: Int32(min(wait, 100)))
            wait = limit.withLock { limit in
                limit.fill(at: (ContinuousClock.now - began).milliseconds)
                return limit.wait
            }
        }
    }
}
