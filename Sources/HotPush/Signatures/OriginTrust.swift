package import CASStore
import Synchronization
import VersionTree

/// What somebody who only reads an origin takes from it: pointers that enough of the named keys have signed.
///
/// It remembers in memory what it has verified: later trust of the origin, and the newest sequence of each channel. So a
/// process never goes back, and a new one begins with the named keys, and with their version if it is told. Several threads
/// may use it at once.
package final class OriginTrust: Sendable {
    private let origin: Mutex<TrustedOrigin>

    /// - Parameter version: the version of the origin's trust of which these are all keys: no older pointer counts; `nil`
    ///   for keys that may be of any.
    /// - Throws: `.badKey` for keys that cannot be trusted together.
    package init(
        _ keys: [VerificationKey], threshold: Int = 1, version: Int64? = nil
    ) throws(StoreError) {
        let trusted = try TrustedKeys(keys, threshold: threshold)
        var named = TrustedOrigin(
            places: [], id: nil, keys: trusted.keys, threshold: trusted.threshold)
        named.version = version
        origin = Mutex(named)
    }

    /// Takes a pointer, if it counts.
    /// - Parameters:
    ///   - now: what the clock says, in seconds since 1970.
    ///   - read: a version of the origin's trust.
    /// - Throws: `.untrusted` with what is wrong: signatures, origin, an older sequence than before; what `read` throws.
    package func admit(
        _ pointer: ChannelPointer, now: Int64 = secondsNow(),
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        while true {
            let known = origin.withLock { $0 }
            let next = try Self.judged(pointer, by: known, now: now, reading: read)
            let isDone = origin.withLock { origin in
                // Keys may have changed meanwhile: another thread has followed them, and nothing goes back.
                guard origin == known else { return false }
                origin = next
                return true
            }
            if isDone { return }
        }
    }

    /// The origin with a pointer that counts.
    private static func judged(
        _ pointer: ChannelPointer, by known: TrustedOrigin, now: Int64,
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) -> TrustedOrigin {
        let verdict = try PointerVerdict(on: pointer, of: known, reading: read)
        if let objection = verdict.objection { throw refusal(of: pointer, objection) }
        let standing = PointerStanding(of: pointer, verdict.origin, signers: verdict.signers)
        if let newer = standing.newer {
            throw refusal(
                of: pointer,
                "it has sequence \(pointer.sequence), and \(newer) was verified before")
        }
        var next = verdict.origin
        try next.accept(pointer) { SequenceBound.allows($0, at: now) }
        return next
    }

    /// Whether an admitted pointer may be obeyed now; one that has expired decides nothing.
    /// - Parameter now: what the clock says, in seconds since 1970.
    package func isInForce(_ pointer: ChannelPointer, now: Int64) -> Bool {
        let latest = origin.withLock { $0.latest }
        return pointer.expiresAt.map { max(now, latest) <= $0 } ?? true
    }

    private static func refusal(of pointer: ChannelPointer, _ objection: String) -> StoreError {
        .untrusted(
            "the pointer of channel \(pointer.channel) is refused: \(objection); nobody is answered from it"
        )
    }
}

extension DirectoryOrigin {
    /// A version of the origin's trust.
    /// - Throws: `.untrusted` if it is not there, or is none.
    package func trustFile(_ version: Int64) throws(StoreError) -> TrustFile {
        let path = OriginLayout.trust(version)
        guard let file = try file(path, limit: TrustFile.byteCountMax) else {
            throw .untrusted(
                "the origin's keys have changed, and \(printable(self.path))/\(path), which would prove it, is missing; "
                    + TrustFile.remedy
            )
        }
        return try TrustFile(parsing: file.bytes, version: version)
    }
}
