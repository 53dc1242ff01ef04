import CASStore
import HotPush
import Storage

/// The lock of an origin in a directory: a locked file, which the kernel releases however the process ends.
///
/// Publishers share it while they send files for a commit. Pruning, beginning a log and repairing hold it
/// exclusively, and so do publishers of older castree versions for everything.
final class OriginLock {
    private let lock: FileLock

    enum Use {
        case alone
        case sharing
        /// Shared by a reader, for which nothing is created.
        case looking
    }

    /// Waits for the lock, unless the options say not to.
    ///
    /// It is `nil` for a storage without a directory for it; for a reader, also without a lock that can be opened.
    /// - Throws: `.busy` if another publisher is at work and this one does not wait; `.interrupted`.
    init?(
        _ storage: any ObjectStorage, _ options: PublisherOptions, _ use: Use = .alone
    ) throws(StoreError) {
        guard use == .looking else {
            guard let place = storage.work, place.isWritable else { return nil }
            let work = try place.open()
            lock = try Self.take(work.raw, place, options, use)
            return
        }
        guard let place = storage.work, let work = try place.openIfPresent() else {
            return nil
        }
        do throws(StoreError) {
            lock = try Self.take(work.raw, place, options, use)
        } catch {
            guard [.notFound, .readOnly].contains(error.code) || error.isOfPlace else {
                throw error
            }
            return nil
        }
    }

    private static func take(
        _ work: Int32, _ place: WorkDirectory, _ options: PublisherOptions, _ use: Use
    ) throws(StoreError) -> FileLock {
        let fileSystem = place.fileSystem
        var wait = LockWait(ofPublisher: options.waiting)
        while true {
            let file = FileLock(
                use == .looking
                    ? try fileSystem.open(work, OriginLayout.lock, .reading, mode: 0)
                    : try place.openLock(work, OriginLayout.lock), fileSystem)
            try file.take(exclusive: use == .alone, fileSystem, &wait) { holder in
                "another publisher is at work in \(printable(place.place))\(holder)"
            }
            // Somebody may have removed the file, whose lock then excludes nobody.
            if let here = try fileSystem.status(work, OriginLayout.lock),
                here.isSameFile(as: try fileSystem.status(file.raw))
            {
                return file
            }
        }
    }
}
