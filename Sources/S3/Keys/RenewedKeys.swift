import Platform
import Storage
import Synchronization

/// Keys that end, and are asked for again five minutes before.
final class RenewedKeys: KeySource {
    private static let secondsBefore: Int64 = 300

    private let fetch: @Sendable () throws(StoreError) -> AccessKeys
    /// Held while keys are fetched: whoever needs them waits for the one request.
    private let known = Mutex<AccessKeys?>(nil)

    /// - Parameter fetch: asks for keys; throws `.credentials` if there are none.
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
                // Those that are here may do for these five minutes.
                if let known, Self.holds(known, at: now, secondsMore: 0) { return .success(known) }
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Whether keys still hold then, and so many seconds longer; those without an end always do.
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
