import Platform

/// Stages small contents on a second thread, because creating a file takes about as long as fetching its content.
///
/// Belongs to one thread; at most ``byteCountMax`` and one content more are in memory.
final class WriteBehind {
    /// Contents come in bursts, as frames of packs are decoded: a burst must not wait for the disk.
    private static let byteCountMax = 4 << 20
    /// With less to do no thread is begun.
    private static let beginByteCount = 256 << 10

    private let batch: ObjectBatch
    private let queue = Queue()
    private var writing: Parallel.Running?
    private var dropping: Parallel.Running?

    private struct Content: Sendable {
        let name: String
        let bytes: [UInt8]
    }

    private final class Queue: Sendable {
        struct State {
            var contents: [Content] = []
            var byteCount = 0
            var isBeingWritten = false
            var failure: StoreError?
        }

        let state = Monitor(State())

        /// Takes all waiting contents; if there are none, the writer ends.
        func takeAll() -> [Content] {
            state.change { state in
                let taken = state.contents
                state.contents = []
                if taken.isEmpty { state.isBeingWritten = false }
                return taken
            }
        }

        func note(_ content: Content) {
            state.change { $0.byteCount -= content.bytes.count }
        }

        func putBack(_ contents: ArraySlice<Content>, _ failure: StoreError) {
            state.change { state in
                state.contents.insert(contentsOf: contents, at: 0)
                state.failure = failure
                state.isBeingWritten = false
            }
        }
    }

    init(_ batch: ObjectBatch) { self.batch = batch }

    deinit { endWork() }

    /// Takes a content whose bytes are verified.
    /// - Throws: why an earlier content could not be staged. All unstaged contents stay, and are tried with the next.
    func add(_ bytes: [UInt8], as name: String) throws(StoreError) {
        let byteCount = queue.state.change { state in
            state.contents.append(Content(name: name, bytes: bytes))
            state.byteCount += bytes.count
            return state.byteCount
        }
        if byteCount >= Self.beginByteCount { begin() }
        // The writer is the slower one: it gets half of the space first.
        if byteCount > Self.byteCountMax {
            queue.state.wait(until: {
                !$0.isBeingWritten || $0.byteCount <= Self.byteCountMax / 2
            }) { _ in }
        }
        try throwFailure()
    }

    /// Returns when everything is staged.
    /// - Throws: why something could not be staged; then it may be called again.
    func finish() throws(StoreError) {
        while queue.state.change({ $0.isBeingWritten || !$0.contents.isEmpty }) {
            begin()
            writing?.wait()
            try throwFailure()
        }
    }

    private func throwFailure() throws(StoreError) {
        if let failure = queue.state.change({ $0.failure.take() }) { throw failure }
    }

    private func begin() {
        let isIdle = queue.state.change { state in
            guard !state.isBeingWritten, !state.contents.isEmpty, state.failure == nil else {
                return false
            }
            state.isBeingWritten = true
            return true
        }
        guard isIdle else { return }
        // It has ended.
        writing?.wait()
        let (batch, queue) = (batch, queue)
        writing = Parallel.begin {
            while true {
                let contents = queue.takeAll()
                if contents.isEmpty { return }
                for (position, content) in contents.enumerated() {
                    do throws(StoreError) {
                        try batch.write(content.bytes, as: content.name)
                    } catch {
                        return queue.putBack(contents[position...], error)
                    }
                    queue.note(content)
                }
            }
        }
    }

    /// Removes the staged names of recorded objects in the background.
    func dropStagedNames(_ addresses: [ObjectID]) {
        dropping?.wait()
        let batch = batch
        dropping = Parallel.begin {
            // This is only tidying: what stays goes when the lease does.
            for address in addresses { try? batch.dropStagedName(address) }
        }
    }

    /// Waits until no thread of this one touches the staged files any more, so that the lease may end.
    func endWork() {
        writing?.wait()
        dropping?.wait()
    }
}
