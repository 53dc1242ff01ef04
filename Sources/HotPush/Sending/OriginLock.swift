import CASStore
import Storage

/// The lock of an origin in a directory: a file locked by the kernel (flock(2)), which releases it when the process ends,
/// however it ends.
///
/// Publishers share it while they send files for a commit. Whoever deletes what nobody needs, begins a log, or repairs an
/// origin holds it alone. So do publishers of older castrees, for all that they do.
final class OriginLock {
    private let file: Descriptor
    private let fileSystem: any FileSystem

    /// Waits for the lock, unless the options say not to.
    ///
    /// - Parameter use: what it is held for.
    /// - Throws: `.busy` if another publisher is at work and this one does not wait; `.interrupted`.
    init(
        _ work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem,
        _ use: Use = .alone
    ) throws(StoreError) {
        self.fileSystem = fileSystem
        file = try Self.take(work, path, options, fileSystem, use)
    }

    /// What the lock is held for.
    enum Use {
        case alone
        /// Beside others who share it.
        case sharing
        /// The same; nothing is made for it.
        case looking
    }

    /// The lock of an origin in a storage; nil if it has no directory for one.
    convenience init?(
        _ storage: any ObjectStorage, _ options: PublisherOptions, _ use: Use = .alone
    ) throws(StoreError) {
        guard let place = storage.work, place.isWritable else { return nil }
        let work = try place.open()
        try self.init(work.raw, place.place, options, place.fileSystem, use)
    }

    /// The same for whoever sends files that nobody may delete before they are offered.
    convenience init?(
        sharing storage: any ObjectStorage, _ options: PublisherOptions
    ) throws(StoreError) { try self.init(storage, options, .sharing) }

    /// The same for whoever only looks, and shares it with others; nil where nobody has made it, or it cannot be opened.
    convenience init?(
        lookingAt storage: any ObjectStorage, _ options: PublisherOptions
    ) throws(StoreError) {
        guard let place = storage.readableWork, let work = try place.openIfPresent() else {
            return nil
        }
        do throws(StoreError) {
            try self.init(
                work.raw, place.place, options, place.fileSystem, .looking)
        } catch {
            guard [.notFound, .readOnly].contains(error.code) || error.isOfPlace else {
                throw error
            }
            return nil
        }
    }

    deinit {
        // A program that is just starting has the file open, too, and would hold the lock until it execs.
        fileSystem.unlock(file.raw)
    }

    private static func take(
        _ work: Int32, _ path: String, _ options: PublisherOptions, _ fileSystem: any FileSystem,
        _ use: Use
    ) throws(StoreError) -> Descriptor {
        let began = SuspendingClock.now
        var hasSaidSo = false
        while true {
            let file = try fileSystem.open(
                work, OriginLayout.lock, use == .looking ? .reading : .updating, mode: 0o666)
            if use != .looking { try fileSystem.closeLock(file.raw) }
            while try !fileSystem.lock(file.raw, exclusive: use == .alone) {
                let holder = LockHolder.find(of: try fileSystem.status(file.raw))
                let name = holder.process == nil ? "" : " (\(holder.description))"
                let sentence = "another publisher is at work in \(printable(path))\(name)"
                guard SuspendingClock.now - began < options.waitLimit else {
                    throw StoreError(
                        .busy, "\(sentence); repeat the command when it has finished")
                }
                if !hasSaidSo {
                    options.notice("\(sentence); waiting for it")
                    hasSaidSo = true
                }
                if options.isInterrupted() { throw .publishingInterrupted }
                pause(milliseconds: 50)
            }
            // Somebody may have removed the file: then its lock excludes nobody.
            if let here = try fileSystem.status(work, OriginLayout.lock),
                here.isSameFile(as: try fileSystem.status(file.raw))
            {
                return file
            }
        }
    }
}
