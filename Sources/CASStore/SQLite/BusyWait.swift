/// Waits for a program that has locked the database (sqlite.org/c3ref/busy_handler.html).
///
/// For one connection, which one thread uses at a time.
final class BusyWait {
    private let path: String
    private let options: StoreOptions
    private var wait: LockWait?

    init(_ path: String, _ options: StoreOptions) {
        self.path = path
        self.options = options
    }

    /// Rests for a while.
    /// - Parameter count: how many calls came before for the same lock.
    /// - Returns: whether to try again.
    func goesOn(after count: Int32) -> Bool {
        var wait = count == 0 ? LockWait(options) : self.wait ?? LockWait(options)
        guard !wait.isOver, !wait.isInterrupted else { return false }
        wait.rest()
        if wait.isToBeTold {
            // Not by opening it: closing it again would drop the connection's own locks. If this fails,
            // the notice names nobody.
            let status = try? POSIXFileSystem().status(POSIXFileSystem.workingDirectory, path)
            wait.tell(status.flatMap { $0 }.map(LockHolder.find(of:)) ?? .unknown)
        }
        self.wait = wait
        return true
    }
}
