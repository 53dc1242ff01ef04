package import CASStore
import Synchronization
import VersionTree

/// A reader's trust in an origin: it admits pointers that enough of the named keys have signed.
///
/// It remembers in memory what it has verified: later trust of the origin, and the newest sequence of each channel. So
/// a process never goes back; a new one begins with the named keys, and their version if given. Any thread may use it.
package final class OriginTrust: Sendable {
    private let origin: Mutex<TrustedOrigin>

    /// - Parameter version: the version of the origin's trust of which these are all keys, so that no older pointer
    ///   counts; `nil` for keys of any version.
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

    /// Admits a pointer, if it counts.
    /// - Parameters:
    ///   - now: the clock, in seconds since 1970.
    ///   - read: reads a version of the origin's trust.
    /// - Throws: `.untrusted` with what is wrong: signatures, origin, an older sequence; errors of `read`.
    package func admit(
        _ pointer: ChannelPointer, now: Int64 = secondsNow(),
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) {
        while true {
            let known = origin.withLock { $0 }
            let next = try Self.judged(pointer, by: known, now: now, reading: read)
            let isDone = origin.withLock { origin in
                // Another thread may have followed a change of keys in the meantime, and nothing goes back.
                guard origin == known else { return false }
                origin = next
                return true
            }
            if isDone { return }
        }
    }

    private static func judged(
        _ pointer: ChannelPointer, by known: TrustedOrigin, now: Int64,
        reading read: (Int64) throws(StoreError) -> TrustFile
    ) throws(StoreError) -> TrustedOrigin {
        let verdict = try PointerVerdict(on: pointer, of: known, reading: read)
        if let objection = verdict.objection { throw refusal(of: pointer, objection) }
        let state = PointerState(of: pointer, verdict.origin, signers: verdict.signers)
        if let newer = state.newer {
            throw refusal(
                of: pointer,
                "it has sequence \(pointer.sequence), and \(newer) was verified before")
        }
        var next = verdict.origin
        try next.accept(pointer) { SequenceBound.allows($0, at: now) }
        return next
    }

    /// Whether an admitted pointer may be obeyed now; an expired one decides nothing.
    /// - Parameter now: the clock, in seconds since 1970.
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
    /// - Throws: `.untrusted` if it is missing or invalid.
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

/// The keys that an app names and that an update of the app may change.
package struct GivenTrust: Sendable, Hashable {
    package let origin: String
    package let trusted: TrustedKeys
    /// The version of the origin's trust of which these are all keys; `nil` if unknown.
    package let version: Int64?
    /// The digest of keys, threshold and version, by which a store notices that the app names others.
    let digest: String

    /// - Parameter keys: PEM files, as `castree key show` prints them.
    /// - Throws: `.badKey` with what is wrong.
    package init(
        _ keys: [String], threshold: Int, origin: String, version: Int64? = nil
    ) throws(StoreError) {
        if let version, !TrustFile.versions.contains(version) {
            throw .badKey("\(version) is no version of an origin's trust: the first keys are 1")
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
    /// - Parameter places: all names of the place where the origin was found.
    func origin(in trust: StoreTrust, at places: [String]) -> TrustedOrigin {
        var origin: TrustedOrigin
        if let known = trust.origin(self.origin) ?? trust.origin(at: places),
            known.id == nil || known.id == self.origin
        {
            origin = known
            if origin.appKeys != digest {
                // No key that still counts has signed what was verified.
                if !known.keys.contains(where: trusted.keys.contains) { origin.forgetVerified() }
                origin.keys = trusted.keys
                origin.threshold = trusted.threshold
                origin.forgetVersion()
                // For a version older than was seen, the way from these keys is sought, and nothing goes back.
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
