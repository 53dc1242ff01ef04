import CASStore
import Synchronization

/// Reads files of an origin to hold them against their addresses, and tells how far it has come; from several threads.
final class CheckingProgress: Sendable {
    private let options: PublisherOptions
    private let total: Int64
    private let done = Atomic<Int64>(0)

    /// - Parameter total: how many bytes there are to be read.
    init(_ options: PublisherOptions, total: Int64) {
        self.options = options
        self.total = total
        report()
    }

    private func report() {
        let done = min(done.load(ordering: .relaxed), total)
        options.progress(PublishProgress(bytes: done, bytesTotal: total, step: .checking))
    }

    /// Notes bytes that need not be read.
    func skip(_ byteCount: Int64) {
        done.add(byteCount, ordering: .relaxed)
        report()
    }

    /// What the bytes of an open file are.
    /// - Throws: `.interrupted`; what reading throws.
    func address(
        of file: Int32, _ checker: inout ObjectChecker, _ fileSystem: any FileSystem
    ) throws(StoreError) -> ObjectID {
        let buffer = checker.buffer
        do throws(StoreError) {
            try fileSystem.forEachPiece(of: file, buffer: buffer) { (piece) throws(StoreError) in
                if options.isInterrupted() { throw OriginWriter.interruption }
                checker.update(piece)
                skip(Int64(piece.count))
            }
        } catch {
            // Forget what was read of it.
            _ = checker.finish()
            throw error
        }
        return checker.finish().address
    }
}
