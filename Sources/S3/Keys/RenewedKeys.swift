import Platform
import Storage
import Synchronization

/// Keys that expire, and are fetched again five minutes before.
final class RenewedKeys: KeySource {
    private static let secondsBefore: Int64 = 300

    private let fetch: @Sendable () throws(StoreError) -> AccessKeys
    /// Locked while keys are fetched, so that all threads wait for one request.
    private let known = Mutex<AccessKeys?>(nil)

    init(_ fetch: @escaping @Sendable () throws(StoreError) -> AccessKeys) { self.fetch = fetch }

    func keys(at now: Int64) throws(StoreError) -> AccessKeys? {
        let result = known.withLock { known -> Result<AccessKeys, StoreError> in
            if let known, Self.holds(known, at: now, secondsMore: Self.secondsBefore) {
                return .success(known)
            }
            do throws(StoreError) {
                let fetched = try fetch()
                known = fetched
                return .success(fetched)
            } catch {
                // The known keys may do for these five minutes.
                if let known, Self.holds(known, at: now, secondsMore: 0) { return .success(known) }
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Whether keys are valid for some more seconds; those without an end always are.
    private static func holds(_ keys: AccessKeys, at now: Int64, secondsMore: Int64) -> Bool {
        keys.expiresAt.map { $0 - now > secondsMore } ?? true
    }

    func renew(_ ended: AccessKeys, at now: Int64) throws(StoreError) -> Bool {
        known.withLock {
            // Another thread may have renewed them already.
            if $0 == ended { $0 = nil }
        }
        return try keys(at: now) != ended
    }
}
