import CASStore
import VersionTree

extension ObjectID {
    /// A placeholder for content whose address the publisher does not give:
    /// `SHA-256("castree-provisional 1\n" + parts joined by NUL)`.
    ///
    /// The same label and size always give the same name, so that a later pull of any version finds the partial file
    /// again.
    static func provisional(_ parts: [String]) throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        var text = Array("castree-provisional 1\n".utf8)
        for part in parts {
            text += part.utf8
            text.append(0)
        }
        hasher.update(text.span.bytes)
        return hasher.finish().address
    }
}

extension ReleaseFile {
    /// Uses origin and version only for content that has no label.
    func provisionalAddress(
        origin: String, version: String
    ) throws(StoreError) -> ObjectID {
        if let address { return try .provisional(["address", address.description]) }
        var names: [String] = []
        for check in checks {
            switch check {
            // A checksum does not name content: another origin's file of that size may share it.
            case .digest(let label) where !label.algorithm.identifiesContent: continue
            case .unknownDigest: continue
            case .digest(let label): names.append(label.description)
            case .entityTag(let tag): names.append("etag:" + tag)
            case .meteorLabel(let label): names.append("meteor:" + label)
            }
        }
        names.sort()
        if names.isEmpty { names = ["source", origin, version] + place }
        return try .provisional(names + [byteCount.map(String.init) ?? "?"])
    }

    /// What distinguishes its content from that of the release's other files.
    private var place: [String] {
        // Many files may come from one archive.
        guard let source = plainSources.first else { return ["path", path.description] }
        return [source.reference] + source.fields.flatMap { [$0.name, $0.value] }
    }

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

    /// The content's validator on a server built for the format.
    var promisedValidator: Validator? {
        checks.lazy.compactMap(\.entityTag).first.map { .entityTag("\"\($0)\"") }
    }
}

extension ContentCheck {
    var entityTag: String? {
        switch self {
        case .entityTag(let tag), .meteorLabel(let tag): tag
        case .digest, .unknownDigest: nil
        }
    }

    /// The 40 hexadecimal digits between the quotes of an entity tag; nil for another form.
    static func digits(in tag: String) -> String? {
        var text = Substring(tag)
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.utf8.count == 42, text.first == "\"", text.last == "\"" else { return nil }
        return MeteorLabel(String(text.dropFirst().dropLast()))?.description
    }
}
