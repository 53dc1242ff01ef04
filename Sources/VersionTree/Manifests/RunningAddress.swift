import CASStore
import Synchronization

/// The SHA-256 of a text that is read in pieces, which may overlap.
final class RunningAddress: Sendable {
    private struct State: ~Copyable {
        var digester: Digester
        var count = 0
    }

    private let state: Mutex<State>

    init() throws(StoreError) {
        let digester = try Digester(.sha256)
        state = Mutex(State(digester: digester))
    }

    func add(_ bytes: [UInt8], at offset: Int) {
        state.withLock { state in
            let known = state.count - offset
            guard known >= 0, known < bytes.count else { return }
            bytes.withUnsafeBytes {
                state.digester.update(UnsafeRawBufferPointer(rebasing: $0[known...]))
            }
            state.count = offset + bytes.count
        }
    }

    /// The address of a file's bytes; reads them again if the pieces did not cover all of them.
    func finish(
        _ file: borrowing RegularFile, _ fileSystem: any FileSystem
    ) throws(StoreError) -> ObjectID {
        let known: ObjectID? = state.withLock { state in
            guard state.count == file.byteCount else { return nil }
            return state.digester.finish { ObjectID(unchecked: $0) }
        }
        if let known { return known }
        var digester = try Digester(.sha256)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        defer { buffer.deallocate() }
        try fileSystem.forEachPiece(of: file.descriptor.raw, buffer: buffer) {
            (piece) throws(StoreError) in digester.update(piece)
        }
        return digester.finish { ObjectID(unchecked: $0) }
    }
}
