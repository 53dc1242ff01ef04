import CASStore

/// How a publisher waits for a lock that another one holds.
struct PublisherWait {
    var limit: Duration
    let isInterrupted: @Sendable () -> Bool
    let notice: @Sendable (String) -> Void
    private var began = SuspendingClock.now
    private var hasSaidSo = false

    init(
        limit: Duration = .seconds(600), isInterrupted: @escaping @Sendable () -> Bool = { false },
        notice: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.limit, self.isInterrupted, self.notice) = (limit, isInterrupted, notice)
    }

    /// Begins to wait for another lock.
    mutating func restart() { (began, hasSaidSo) = (SuspendingClock.now, false) }

    /// - Parameter sentence: what is held, with the holder's process, if it is known.
    /// - Throws: `.busy` once the limit is over; `.interrupted`.
    mutating func take(
        _ file: FileLock, exclusive: Bool = true, _ fileSystem: any FileSystem,
        _ sentence: (_ holder: String) -> String
    ) throws(StoreError) {
        while try !file.take(exclusive: exclusive) {
            let holder = LockHolder.find(of: try fileSystem.status(file.raw))
            let held = sentence(holder.process == nil ? "" : " (\(holder.description))")
            guard SuspendingClock.now - began < limit else {
                throw StoreError(.busy, "\(held); repeat the command when it has finished")
            }
            // Most locks are held for a moment.
            if !hasSaidSo, SuspendingClock.now - began > .milliseconds(300) {
                notice("\(held); waiting for it")
                hasSaidSo = true
            }
            if isInterrupted() { throw .publishingInterrupted }
            pause(milliseconds: hasSaidSo ? 50 : 5)
        }
    }
}
