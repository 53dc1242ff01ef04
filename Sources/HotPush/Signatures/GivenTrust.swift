package import CASStore
import VersionTree

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
