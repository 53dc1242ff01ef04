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
            "the pointer of channel \(pointer.channel) is refused: \(objection); its clients get no answer"
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

/// The keys that an app names: part of the app, so whoever updates the app may name others.
package struct GivenTrust: Sendable, Hashable {
    /// The id of the origin.
    package let origin: String
    /// Whose signatures count.
    package let trusted: TrustedKeys
    /// Which version of the origin's trust the keys are, all of them; `nil` if nobody says.
    package let version: Int64?
    /// The keys, the threshold and the version as one digest, by which a store sees that the app names others than before.
    let digest: String

    /// - Parameter keys: PEM files, as `castree key show` prints them.
    /// - Throws: `.badKey` with what is wrong.
    package init(
        _ keys: [String], threshold: Int, origin: String, version: Int64? = nil
    ) throws(StoreError) {
        if let version, !TrustFile.versions.contains(version) {
            throw .badKey(
                "\(version) is no version of an origin's trust: the first keys are 1")
        }
        guard ChannelPointer.isOriginID(origin) else {
            throw .badKey(
                "the id of an origin has 32 lower-case hexadecimal digits; origin.json has it, and castree trust list on a "
                    + "device that trusts the origin")
        }
        var read: [VerificationKey] = []
        for text in keys { read.append(try VerificationKey(pem: text)) }
        self.origin = origin
        trusted = try TrustedKeys(read, threshold: threshold)
        self.version = version
        let text = ["\(threshold)"] + trusted.keys.map(\.base64) + (version.map { ["\($0)"] } ?? [])
        digest = try ObjectID(of: Array(text.joined(separator: "\n").utf8)).description
    }

    /// The origin as a store trusts it from now on: by these keys, unless rotations have led from them to others.
    /// - Parameter places: where it was asked, by all names of the place.
    func origin(in trust: StoreTrust, at places: [String]) -> TrustedOrigin {
        var origin: TrustedOrigin
        if let known = trust.origin(self.origin) ?? trust.origin(at: places),
            known.id == nil || known.id == self.origin
        {
            origin = known
            if origin.appKeys != digest {
                // None of what was verified is signed by a key that counts still.
                if !known.keys.contains(where: trusted.keys.contains) { origin.forgetVerified() }
                origin.keys = trusted.keys
                origin.threshold = trusted.threshold
                origin.forgetVersion()
                // Of an older version than was seen: the way from these keys is sought, and nothing goes back.
                origin.version = version.flatMap { $0 < origin.floor ? nil : $0 }
            }
        } else {
            origin = TrustedOrigin(
                places: [], id: self.origin, keys: trusted.keys, threshold: trusted.threshold)
            origin.version = version
        }
        origin.id = self.origin
        origin.appKeys = digest
        origin.places += trust.names(of: places, for: origin)
        return origin
    }
}
