import Synchronization

/// What a program says unasked.
package final class Notices: Sendable {
    private let texts = Mutex<[String]>([])

    package init() {}

    package var all: [String] { texts.withLock { $0 } }
    package func add(_ text: String) { texts.withLock { $0.append(text) } }
    package var sink: @Sendable (String) -> Void { { self.add($0) } }
    package func clear() { texts.withLock { $0 = [] } }
}
