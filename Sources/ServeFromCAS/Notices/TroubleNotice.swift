import Synchronization

/// Reports a trouble once, however often it occurs, until it ends or changes.
///
/// Safe to use from all threads.
final class TroubleNotice: Sendable {
    private let notice: @Sendable (String) -> Void
    private let told = Mutex<String?>(nil)

    init(_ notice: @escaping @Sendable (String) -> Void) { self.notice = notice }

    /// Reports it, unless it was the last one reported.
    func tell(_ trouble: String) {
        let isNew = told.withLock { told -> Bool in
            defer { told = trouble }
            return told != trouble
        }
        if isNew { notice(trouble) }
    }

    /// Whether the trouble last reported continues.
    var isTold: Bool { told.withLock { $0 != nil } }

    /// The trouble is over: the next one is news, even if it is the same.
    func end() { told.withLock { $0 = nil } }
}
