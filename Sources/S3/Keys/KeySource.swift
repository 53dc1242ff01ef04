package import Platform
import Storage

package protocol KeySource: Sendable {
    /// The keys to sign with now; `nil` to sign nothing.
    /// - Parameter now: seconds since 1970. Keys that expire within five minutes are renewed first.
    /// - Throws: `.credentials` if there are none.
    func keys(at now: Int64) throws(StoreError) -> AccessKeys?

    /// Gets other keys, as the server says that these have expired; `false` if there are none.
    func renew(_ ended: AccessKeys, at now: Int64) throws(StoreError) -> Bool
}

package struct FixedKeys: KeySource {
    private let fixed: AccessKeys?

    /// Takes keys; `nil` to sign nothing.
    package init(_ keys: AccessKeys?) { fixed = keys }

    package func keys(at now: Int64) -> AccessKeys? { fixed }
    package func renew(_ ended: AccessKeys, at now: Int64) -> Bool { false }
}
