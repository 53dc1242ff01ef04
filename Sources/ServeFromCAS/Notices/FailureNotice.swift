import Synchronization

/// Reports a problem once, however often it occurs, until it ends or changes; thread-safe.
final class FailureNotice: Sendable {
    private let notice: @Sendable (String) -> Void
    private let told = Mutex<String?>(nil)

    init(_ notice: @escaping @Sendable (String) -> Void) { self.notice = notice }

    func tell(_ problem: String) {
        let isNew = told.withLock { told -> Bool in
            defer { told = problem }
            return told != problem
        }
        if isNew { notice(problem) }
    }

    var isTold: Bool { told.withLock { $0 != nil } }

    /// Ends the problem: the next one is news, even if it is the same.
    func end() { told.withLock { $0 = nil } }
}
