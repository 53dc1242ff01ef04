import CASStore

extension ReleaseFile {
    /// Digests by which later releases may recognize the content.
    var wantedDigests: Set<DigestAlgorithm> {
        checks.contains { if case .meteorLabel = $0 { true } else { false } }
            ? Set(MeteorLabel.algorithms) : []
    }

    /// Whether digests of its bytes prove the content, if proof is needed.
    func isProved(by digests: [Label]) throws(StoreError) -> Bool {
        guard needsProof else { return true }
        for case .meteorLabel(let text) in checks {
            guard let label = MeteorLabel(text) else { continue }
            guard case .proved = try label.proof(digests) else { return false }
        }
        return true
    }

    /// The content's validator on a server that was built with the format.
    var promisedValidator: Validator? {
        checks.lazy.compactMap(\.entityTag).first.map { .entityTag("\"\($0)\"") }
    }
}

extension ContentCheck {
    /// The name that the server may use as the entity tag.
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
        return MeteorLabel(String(text.dropFirst().dropLast()))?.description
    }
}
