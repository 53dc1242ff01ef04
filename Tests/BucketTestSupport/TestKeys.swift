package import S3
import Synchronization

/// Keys that end, each followed by the next.
package final class TestKeys: KeySource {
    private let all: [AccessKeys]
    private let place = Mutex(0)

    package init(_ all: [AccessKeys]) { self.all = all }

    package func keys(at now: Int64) -> AccessKeys? { place.withLock { all[$0] } }

    package func renew(_ ended: AccessKeys, at now: Int64) -> Bool {
        place.withLock {
            guard $0 + 1 < all.count else { return false }
            $0 += 1
            return true
        }
    }
}
