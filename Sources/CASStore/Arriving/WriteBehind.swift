import Platform
import Synchronization

/// Stages small contents on a thread of its own, while the next ones come.
///
/// To make a file takes the system about as long as it takes to fetch, decode and hash what goes into it, so the two
/// halves of that work overlap. Belongs to one thread; what is not yet staged is in memory, at most about
/// twice ``byteCountMax``.
final class WriteBehind {
    /// So many bytes are written together: few threads, and little that a killed process loses.
    private static let byteCountMax = 256 << 10

    private let batch: ObjectBatch
    private var waiting: [Content] = []
    private var waitingByteCount = 0
    private var writing: (work: Parallel.Running, result: Written)?
    private var dropping: Parallel.Running?

    private struct Content: Sendable {
        let name: String
        let bytes: [UInt8]
    }

    /// What became of contents that were to be written.
    private final class Written: Sendable {
        let left: Mutex<(contents: [Content], failure: StoreError?)>

        init(_ contents: [Content]) { left = Mutex((contents, nil)) }
    }

    init(_ batch: ObjectBatch) { self.batch = batch }

    /// Waits for what is under way, so that the lease may end.
    deinit { endWork() }

    /// Takes a content whose bytes are verified.
    ///
    /// - Throws: why an earlier content could not be staged; this one and all that are not staged stay here, and are tried
    ///   again with the next.
    func add(_ bytes: [UInt8], as name: String) throws(StoreError) {
        waiting.append(Content(name: name, bytes: bytes))
        waitingByteCount += bytes.count
        if waitingByteCount >= Self.byteCountMax { try write() }
    }

    /// Returns when everything is staged.
    /// - Throws: why something could not be staged; then it may be called again.
    func finish() throws(StoreError) {
        try write()
        try wait()
    }

    private func write() throws(StoreError) {
        try wait()
        guard !waiting.isEmpty else { return }
        let (batch, contents) = (batch, waiting)
        let result = Written(contents)
        waiting.removeAll(keepingCapacity: true)
        waitingByteCount = 0
        let work = Parallel.begin {
            var doneCount = 0
            var failure: StoreError?
            do throws(StoreError) {
                for content in contents {
                    try batch.write(content.bytes, as: content.name)
                    doneCount += 1
                }
            } catch {
                failure = error
            }
            let left = Array(contents[doneCount...])
            result.left.withLock { [failure] in $0 = (left, failure) }
        }
        writing = (work, result)
    }

    private func wait() throws(StoreError) {
        guard let (work, result) = writing.take() else { return }
        work.wait()
        let (left, failure) = result.left.withLock { $0 }
        guard let failure else { return }
        waiting.insert(contentsOf: left, at: 0)
        waitingByteCount += left.reduce(0) { $0 + $1.bytes.count }
        throw failure
    }

    /// Removes the staged names of objects that the index has recorded, while the caller goes on.
    func dropStagedNames(_ addresses: [ObjectID]) {
        dropping?.wait()
        let batch = batch
        dropping = Parallel.begin {
            // This is only tidying: what stays goes when the lease does.
            for address in addresses { try? batch.dropStagedName(address) }
        }
    }

    /// Waits until no thread of this one touches the staged files any more.
    func endWork() {
        writing?.work.wait()
        dropping?.wait()
    }
}
