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
    /// Otherwise its content stands under another name until it has come, so that no version becomes
    /// complete by it that was never held against the rest.
    var isProvedByAddress: Bool {
        address != nil && byteCount != nil && !needsInspection && !hasLabelsBesidesAddress
    }

    /// Whether there are digests that the address does not prove: the SHA-256 is the address.
    var hasLabelsBesidesAddress: Bool {
        !checks.isEmpty && labels.contains { $0.algorithm != .sha256 || address == nil }
    }

    /// Whether a manifest has other content in the file's place than the release says.
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

    /// The field of a manifest's entry with what is said of the content and does not name it: by it a
    /// later release of the same name is told from this one.
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

    /// Digests by which later releases may recognize the content.
    var wantedDigests: Set<DigestAlgorithm> {
        checks.contains { if case .meteorLabel = $0 { true } else { false } }
            ? Set(MeteorLabel.algorithms) : []
    }

    /// Whether digests of its bytes leave no doubt that its publisher cannot have either.
    func isProved(by digests: [Label]) throws(StoreError) -> Bool {
        guard needsProof else { return true }
        for case .meteorLabel(let text) in checks {
            guard let label = MeteorLabel(text) else { continue }
            guard case .proved = try label.proof(digests) else { return false }
        }
        return true
    }

    /// What a server that was built with the format calls the content.
    var promisedValidator: Validator? {
        checks.lazy.compactMap(\.entityTag).first.map { .entityTag("\"\($0)\"") }
    }
}

extension ContentCheck {
    /// The name that the server may use as entity tag.
    var entityTag: String? {
        switch self {
        case .entityTag(let tag), .meteorLabel(let tag): tag
        case .digest, .unknownDigest: nil
        }
    }

    /// The 40 hexadecimal digits between the quotes of an entity tag; nil if it has another form.
    static func digits(in tag: String) -> String? {
        var text = Substring(tag)
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.utf8.count == 42, text.first == "\"", text.last == "\"" else { return nil }
        let digits = text.dropFirst().dropLast()
        let isHex = digits.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
        return isHex ? String(digits) : nil
    }
}

extension StagedPart.Question {
    /// Whether a part was asked for.
    var isForRest: Bool { if case .rest = self { true } else { false } }
}
