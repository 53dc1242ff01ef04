import CASStore
import StrictJSON
import VersionTree

extension ReleaseFile {
    /// The digests that the bytes must match.
    var labels: [Label] {
        checks.compactMap { if case .digest(let label) = $0 { label } else { nil } }
    }

    /// Whether its address is all there is to prove.
    ///
    /// Otherwise its content has a placeholder until it arrives, so that it cannot complete a version unchecked.
    var isProvedByAddress: Bool {
        address != nil && byteCount != nil && !needsInspection && !hasLabelsBesidesAddress
    }

    /// Whether there are digests that the address does not prove: the SHA-256 is the address.
    var hasLabelsBesidesAddress: Bool {
        !checks.isEmpty && labels.contains { $0.algorithm != .sha256 || address == nil }
    }

    func contradicts(_ entry: Manifest.Entry) -> Bool {
        if let address, address != entry.address { return true }
        if let byteCount, byteCount != entry.byteCount { return true }
        for label in labels {
            if label.algorithm == .sha256, label.bytes != entry.address.bytes { return true }
            let kept = entry.labels.first { $0.algorithm == label.algorithm }
            if let kept, kept != label { return true }
        }
        var own = foreign
        if let checksMember { own.append(checksMember) }
        for key in ["hash", Self.checksKey] {
            let said = [own, entry.foreign].map { fields in fields.first { $0.key == key }?.value }
            if said[0] != nil, said[1] != nil, said[0] != said[1] { return true }
        }
        return false
    }

    /// The manifest field for checks that do not name the content: it distinguishes a later release of the same name.
    var checksMember: JSONValue.Member? {
        guard !foreign.contains(where: { $0.key == Self.checksKey }) else { return nil }
        let said: [JSONValue] = checks.compactMap { check in
            switch check {
            case .unknownDigest(let algorithm, let text): .string("\(algorithm):\(text)")
            case .digest(let label) where !label.algorithm.identifiesContent:
                .string(label.description)
            case .digest, .entityTag, .meteorLabel: nil
            }
        }
        return said.isEmpty ? nil : .init(key: Self.checksKey, value: .array(said))
    }

    private static let checksKey = "checks"

    var isProvable: Bool {
        if address != nil { return true }
        return checks.contains { check in
            switch check {
            case .digest(let label): label.algorithm.identifiesContent
            case .meteorLabel: true
            case .entityTag, .unknownDigest: false
            }
        }
    }
}
