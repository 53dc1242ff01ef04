import Synchronization

/// Tells of a trouble once, however often it is met, until it is over or is another.
///
/// Safe to use from all threads.
final class TroubleNotice: Sendable {
    private let notice: @Sendable (String) -> Void
    private let told = Mutex<String?>(nil)

    init(_ notice: @escaping @Sendable (String) -> Void) { self.notice = notice }

    /// Tells it, unless it was the last to be told.
    func tell(_ trouble: String) {
        let isNew = told.withLock { told -> Bool in
            defer { told = trouble }
            return told != trouble
        }
        if isNew { notice(trouble) }
    }

    /// Whether what was told last goes on.
    var isTold: Bool { told.withLock { $0 != nil } }

    /// What was told is over: the next is news, were it the same.
    func end() { told.withLock { $0 = nil } }
}
