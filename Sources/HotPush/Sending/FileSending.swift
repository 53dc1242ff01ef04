import CASStore
import Storage
import Synchronization

/// Sends files of this machine to a bucket, several at once, and says how far it has come.
///
/// Belongs to one thread.
final class FileSending {
    private let seen: SeenFiles
    private let options: PublisherOptions
    private let byteCount: Int64
    private var done: Int64 = 0

    /// - Parameters:
    ///   - byteCount: the bytes of all files that are going to be sent.
    ///   - seen: where those that are acknowledged are noted.
    init(of byteCount: Int64, _ seen: SeenFiles, _ options: PublisherOptions) {
        self.byteCount = byteCount
        self.seen = seen
        self.options = options
    }

    /// Sends some of them.
    ///
    /// - Parameters:
    ///   - isDue: asked before each one, on any thread; `true` leaves the rest out.
    ///   - open: opens a file whose bytes are sent, on any thread.
    /// - Returns: those that were acknowledged; they are noted also if another one fails.
    /// - Throws: what the storage refuses; `.network` if no answer came; `.interrupted`; what `open` throws.
    @discardableResult
    func run(
        _ files: [SizedKey], isDue: @escaping @Sendable () -> Bool = { false },
        open: @escaping @Sendable (SizedKey) throws(StoreError) -> Descriptor
    ) throws(StoreError) -> [SizedKey] {
        let (storage, options, total, before) = (seen.storage, options, byteCount, done)
        let stored = Mutex<(files: [SizedKey], byteCount: Int64)>(([], before))
        defer {
            let (files, sum) = stored.withLock { $0 }
            seen.note(files.map(\.key))
            done = sum
        }
        let outgoing = files.map {
            OutgoingFile($0.key.path, $0.key.address, byteCount: $0.byteCount, $0.key.fields)
        }
        do throws(StoreError) {
            try storage.putAll(
                outgoing,
                open: { (index) throws(StoreError) -> Descriptor? in
                    if options.isInterrupted() { throw .publishingInterrupted }
                    return isDue() ? nil : try open(files[index])
                },
                done: { (index, outcome) throws(StoreError) in
                    try SeenFiles.check(outcome, of: files[index].key, in: storage)
                    let sum = stored.withLock { (stored) -> Int64 in
                        stored.files.append(files[index])
                        stored.byteCount += files[index].byteCount
                        return stored.byteCount
                    }
                    options.progress(PublishProgress(bytes: sum, bytesTotal: total))
                })
        } catch {
            throw SeenFiles.beforeCommit(error)
        }
        return stored.withLock { $0.files }
    }
}

extension PublisherOptions {
    /// Says how far many threads have come with a step.
    /// - Parameter total: about how many bytes are to be looked at.
    func watching(_ step: PublishProgress.Step, total: Int64) -> PackingProgress {
        let report = progress
        return PackingProgress(expected: total, isInterrupted: isInterrupted) { done, total in
            report(PublishProgress(bytes: min(done, total), bytesTotal: total, step: step))
        }
    }
}
